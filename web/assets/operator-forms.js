// The operator's commands: what is filled in, sent, and refused.

import { digits, minorUnits } from './money.js';
import { call, CallError } from './seckill.js';
import { failureText, t } from './text.js';

const $ = (id) => document.getElementById(id);
const MINUTE = 60_000;

/** Lets the page's commands do something: `changed` and `scheduled` are told the sale that the service answers with. */
export function listen({ changed, sale, scheduled }) {
  const command = (path, options) => call(`/sales/${sale().saleId}${path}`, options);
  const change = (form, failure, send) => once(form, failure, async () => {
    const answer = await send();
    if (answer) {
      changed(answer);
    }
  });

  for (const name of ['pause', 'resume']) {
    $(name).addEventListener('click', () => change($('commands'), $('state-failure'), () => command(`/${name}`, { method: 'POST' })));
  }
  $('close').addEventListener('click', () => change($('commands'), $('state-failure'), async () => (
    await sure(sale()) ? command('/close', { method: 'POST' }) : null
  )));

  $('stock-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const sign = Number(event.submitter?.value ?? 1);
    change(event.target, $('stock-failure'), async () => {
      const delta = sign * whole(event.target.elements.delta);
      const answer = await command('/stock', { body: { delta }, method: 'POST' });
      event.target.reset();

      return answer;
    });
  });

  $('window-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const { closesAt, opensAt } = event.target.elements;
    change(event.target, $('window-failure'), () => command('', {
      // What was not touched is left as it is: the field holds no fractions of a second.
      body: { ...moved(opensAt), ...moved(closesAt) },
      method: 'PATCH',
    }));
  });

  $('schedule').addEventListener('submit', (event) => {
    event.preventDefault();
    once(event.target, $('schedule-failure'), async () => scheduled(await call('/sales', { body: plan(event.target.elements), method: 'POST' })));
  });
}

/** Fills the fields of a sale's commands with what it is. */
export function fill(sale) {
  for (const [field, time] of [[$('move-opens'), sale.opensAt], [$('move-closes'), sale.closesAt]]) {
    field.value = local(Date.parse(time));
    field.dataset.was = field.value;
  }
  $('move-opens').disabled = sale.status !== 'scheduled';
  for (const id of ['state-failure', 'stock-failure', 'window-failure']) {
    say($(id), '');
  }
}

/** Begins a new sale: what most sales have is filled in. */
export function begin(now) {
  const { elements } = $('schedule');
  const next = Math.ceil((now || Date.now()) / (5 * MINUTE)) * 5 * MINUTE;
  const usual = {
    closesAt: local(next + 60 * MINUTE), currency: 'CNY', opensAt: local(next), paymentTimeout: '15', perUserLimit: '1',
  };
  for (const [name, value] of Object.entries(usual)) {
    elements[name].value ||= value;
  }
  $('zone').textContent = t('zone', { zone: Intl.DateTimeFormat().resolvedOptions().timeZone });
  elements.name.focus();
}

/** A value that cannot be sent as it was typed. */
class FieldError extends Error {
  constructor(field, words) {
    super(words);
    this.field = field;
  }
}

function plan(elements) {
  const currency = elements.currency.value.trim().toUpperCase();
  if (digits(currency) === null) {
    throw new FieldError(elements.currency, t('field.currency'));
  }
  const price = minorUnits(elements.price.value, currency);
  if (price === null) {
    throw new FieldError(elements.price, t('field.price'));
  }

  return {
    closesAt: time(elements.closesAt),
    currency,
    name: elements.name.value.trim(),
    opensAt: time(elements.opensAt),
    paymentTimeout: `${whole(elements.paymentTimeout)}m`,
    perUserLimit: whole(elements.perUserLimit),
    price,
    stock: whole(elements.stock),
    ...(elements.goodsId.value.trim() && { goodsId: whole(elements.goodsId) }),
  };
}

function whole(field) {
  const text = field.value.trim();
  if (!/^\d{1,15}$/.test(text) || Number(text) === 0) {
    throw new FieldError(field, t('field.number'));
  }

  return Number(text);
}

function time(field) {
  const moment = Date.parse(field.value); // A time without a zone is the browser's.
  if (Number.isNaN(moment)) {
    throw new FieldError(field, t('field.time'));
  }

  return new Date(moment).toISOString();
}

function moved(field) {
  return field.value === field.dataset.was ? {} : { [field.name]: time(field) };
}

/** A moment as a field for local times writes it. */
function local(moment) {
  const offset = new Date(moment).getTimezoneOffset() * MINUTE;

  return new Date(moment - offset).toISOString().slice(0, 19);
}

/** Sends once, however often it is pressed meanwhile, and says what went wrong, at the field where there is one. */
async function once(form, failure, send) {
  if (form.ariaBusy === 'true') {
    return;
  }
  form.ariaBusy = 'true';
  say(failure, '');
  for (const field of form.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid');
  }
  try {
    await send();
  } catch (error) {
    refuse(form, failure, error);
  } finally {
    form.ariaBusy = 'false';
  }
}

function refuse(form, failure, error) {
  if (error instanceof FieldError) {
    invalid(error.field);
    say(failure, error.message);
    error.field.focus();
  } else if (error instanceof CallError) {
    const fields = error.errors.map(({ location }) => form.elements?.[location?.replace(/^body\./, '')]).filter(Boolean);
    fields.forEach(invalid);
    fields[0]?.focus();
    say(failure, failureText(error.code, {}, error.detail));
  } else {
    throw error;
  }
}

function invalid(field) {
  field.setAttribute('aria-invalid', 'true');
}

function say(element, words) {
  element.textContent = words;
}

/** Resolves to whether the operator means it. */
function sure(sale) {
  const dialog = $('sure');
  $('sure-detail').textContent = t('sureDetail', { name: sale.name });
  dialog.returnValue = 'no';
  dialog.showModal();

  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}
