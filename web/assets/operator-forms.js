// The operator's commands: what is sent, once, and what to say of what was refused.

import * as fields from './operator-fields.js';
import { call, CallError } from './seckill.js';
import { failureText, t } from './text.js';

const $ = (id) => document.getElementById(id);
const MINUTE = 60_000;

/** Lets the page's commands do something: `changed` and `scheduled` are told the sale that the service answers with. */
export function listen({ changed, sale, scheduled }) {
  // A command is for the sale that is shown when it is given: before it is sent, the address may lead to another one.
  const command = (form, failure, send, options) => {
    const { name, saleId } = sale();
    once(form, failure, async () => {
      const answer = await send((path, body, method = 'POST') => call(`/sales/${saleId}${path}`, { body, method }), name);
      if (answer) {
        changed(answer);
      }
    }, options);
  };

  for (const name of ['pause', 'resume']) {
    $(name).addEventListener('click', () => command($('state-commands'), $('state-failure'), (post) => post(`/${name}`)));
  }
  $('close').addEventListener('click', () => command($('state-commands'), $('state-failure'), async (post, name) => (
    await sure(name) ? post('/close') : null
  )));
  window.addEventListener('hashchange', () => $('sure').close()); // It asks about a sale that is no longer in sight.

  $('stock-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const sign = Number(event.submitter?.value ?? 1);
    command(event.target, $('stock-failure'), async (post) => {
      const answer = await post('/stock', fields.change($('delta'), sign));
      event.target.reset();

      return answer;
    }, { repeatable: false });
  });

  $('window-form').addEventListener('submit', (event) => {
    event.preventDefault();
    command(event.target, $('window-failure'), (send) => {
      const window = fields.moved($('move-opens'), $('move-closes'));

      return Object.keys(window).length > 0 ? send('', window, 'PATCH') : null;
    });
  });

  $('schedule').addEventListener('submit', (event) => {
    event.preventDefault();
    once(event.target, $('schedule-failure'), async () => {
      const answer = await call('/sales', { body: fields.plan(event.target.elements), method: 'POST' });
      event.target.reset();
      scheduled(answer);
    }, { repeatable: false });
  });
}

/** Lets the fields of a sale's commands follow what it is. What was typed stays, unless it was for another sale. */
export function follow(sale) {
  const another = $('commands').dataset.sale !== String(sale.saleId);
  if (another) {
    $('commands').dataset.sale = sale.saleId;
    $('stock-form').reset();
    for (const form of $('commands').children) {
      clear(form);
    }
  }
  $('move-opens').disabled = sale.status !== 'scheduled';
  for (const [field, time] of [[$('move-opens'), sale.opensAt], [$('move-closes'), sale.closesAt]]) {
    const untouched = another || field.disabled || !fields.touched(field);
    field.dataset.was = local(time);
    if (untouched) {
      field.value = field.dataset.was;
    }
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

function local(time) {
  return fields.local(new Date(time).getTime());
}

/** Sends once, however often it is pressed meanwhile, and says what went wrong, at the field where there is one. */
async function once(form, failure, send, { repeatable = true } = {}) {
  if (form.ariaBusy === 'true') {
    return;
  }
  form.ariaBusy = 'true';
  clear(form);
  failure.textContent = '';
  try {
    await send();
  } catch (error) {
    failure.textContent = reason(error, repeatable);
    refuse(wrong(form, error));
  } finally {
    form.ariaBusy = 'false';
  }
}

function reason(error, repeatable) {
  if (error instanceof fields.FieldsError) {
    return t('failure.invalid_request');
  }
  if (!(error instanceof CallError)) {
    throw error;
  }

  return error.transient && !repeatable ? t('failure.unknown') : failureText(error.code, {}, error.detail);
}

/** The fields of the form that an error is about. */
function wrong(form, error) {
  if (error instanceof fields.FieldsError) {
    return error.fields;
  }

  return error.errors.map(({ location }) => form.elements?.[location?.replace(/^body\./, '')]).filter(Boolean);
}

/** Says of each field what it must be. */
function refuse(wrongFields) {
  for (const field of wrongFields) {
    field.setAttribute('aria-invalid', 'true');
    words(field).textContent = t(`field.${field.name}`);
  }
  wrongFields[0]?.focus();
}

function clear(form) {
  for (const field of form.querySelectorAll('[aria-invalid]')) {
    field.removeAttribute('aria-invalid');
  }
  for (const failure of form.querySelectorAll('.failure')) {
    failure.textContent = '';
  }
}

/** Where the words about a field are: the last of what describes it. */
function words(field) {
  return $(field.getAttribute('aria-describedby').split(' ').at(-1));
}

/** Resolves to whether the operator means to close a sale of this name. */
function sure(name) {
  const dialog = $('sure');
  $('sure-detail').textContent = t('sureDetail', { name });
  dialog.returnValue = 'no';
  dialog.showModal();

  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}
