// What is on the screen. Everything is drawn from the state that it is given; nothing is remembered here.

import * as format from './format.js';
import { failureText, link, native, t } from './text.js';

const $ = (id) => document.getElementById(id);

/** Shows one of the page's views: `loading`, `sale`, `empty` or `missing`. */
export function show(view) {
  $('loading').hidden = view !== 'loading';
  $('sale').hidden = view !== 'sale';
  $('empty').hidden = view !== 'empty' && view !== 'missing';
  if (!$('empty').hidden) {
    text('empty-title', t(`${view}.title`));
    text('empty-detail', t(`${view}.detail`));
  }
}

/** Tells of a lasting trouble with the connection, or that it is over. */
export function notice(words) {
  text('notice', words);
  $('notice').hidden = words === '';
}

/** Draws what belongs to the goods and changes seldom. */
export function drawSale(sale, now) {
  document.title = t('title', { name: sale.name });
  text('name', sale.name);
  drawPrice(sale);

  $('stock').value = sale.available;
  text('stock', format.count(sale.available));
  text('stock-before', t('stockBefore', { stock: format.count(sale.stock) }));
  text('stock-after', t('stockAfter', { stock: format.count(sale.stock) }));
  $('meter').setAttribute('aria-valuemax', sale.stock);
  $('meter').setAttribute('aria-valuenow', sale.available);
  $('meter-fill').style.setProperty('--share', sale.stock > 0 ? sale.available / sale.stock : 0);

  text('limit', t('units', { n: format.count(sale.perUserLimit) }));
  text('payment-timeout', format.duration(sale.paymentTimeout));
  const next = sale.status === 'scheduled' ? 'opensAt' : 'closesAt';
  text('when-label', t(next));
  text('when', format.moment(sale[next], now));
}

/** Draws what the passing of time changes: the state and the countdown. */
export function drawClock(sale, phase, now) {
  $('sale').dataset.phase = phase;
  text('state', t(`state.${phase}`));

  $('clock').hidden = phase === 'closed';
  const opens = phase === 'scheduled';
  const left = Date.parse(opens ? sale.opensAt : sale.closesAt) - now;
  const { clock, days } = format.remaining(left);
  text('countdown-label', t(opens ? 'countdown.opens' : 'countdown.closes'));
  $('clock').dataset.near = left <= 10_000;
  if ($('countdown').dataset.shown !== days + clock) {
    $('countdown').dataset.shown = days + clock;
    $('countdown').replaceChildren(...(days ? [part('span', 'days', days)] : []), ...digits(clock));
  }
}

/**
 * Draws the button and the line below it; full is whether the buyer has as many units as they may have, wait how many seconds
 * the service has asked them to hold off.
 */
export function drawButton(phase, outcome, { full, wait }) {
  const busy = outcome.state === 'processing';
  const waits = phase === 'open' && wait > 0;
  const has = outcome.purchase?.orderId || outcome.purchase?.existingOrderId;

  // While busy the button keeps the keyboard's focus, which a disabled one would lose.
  $('buy').disabled = !busy && (phase !== 'open' || waits || full);
  $('buy').setAttribute('aria-disabled', busy);
  $('buy').dataset.look = has ? 'quiet' : 'loud';
  $('buyer').readOnly = busy;

  let label = `buy.${phase}`;
  if (busy) {
    label = 'buy.processing';
  } else if (full) {
    label = 'buy.bought';
  } else if (waits) {
    label = 'buy.wait';
  } else if (phase === 'open' && outcome.state !== 'idle') {
    label = outcome.state === 'succeeded' ? 'buy.more' : 'buy.again';
  }
  text('buy-label', t(label, { n: wait }));
  text('hint', t(`hint.${phase}`));
  $('hint').hidden = full || (phase === 'open' && outcome.state !== 'idle');
}

/** Draws how the buyer's press stands: `{state}` with what is known about it, see page.js. */
export function drawOutcome(outcome, { limit, now }) {
  const { error, purchase, state } = outcome;

  $('outcome-body').hidden = state === 'idle';
  text('outcome-title', title(outcome));
  text('outcome-detail', detail(outcome, limit));
  slip('order-id', purchase?.orderId);
  slip('pay-by', purchase?.payBy && format.moment(purchase.payBy, now, { seconds: true }));
  $('pay-by').dateTime = purchase?.payBy ?? '';
  slip('existing-order-id', purchase?.existingOrderId);
  slip('request-id', error ? '' : purchase?.requestId);
  // Last, so that who waits for the state finds the rest in place.
  $('outcome').dataset.state = state;

  if (state !== 'idle') {
    $('outcome').scrollIntoView({ block: 'nearest' });
  }
}

/** Lists other sales to go to. */
export function drawOthers(sales, now) {
  $('home').href = link();
  $('others').hidden = sales.length === 0;
  $('others-list').replaceChildren(...sales.map((sale) => {
    const item = document.createElement('li');
    const anchor = part('a', '', '');
    anchor.href = link({ sale: sale.saleId });
    const opening = () => `${t('opensAt')} ${format.moment(sale.opensAt, now)}`;
    const when = sale.status === 'scheduled' ? opening() : t(`state.${sale.status}`);
    anchor.append(part('span', 'title', sale.name), part('span', 'when', when));
    item.append(anchor);

    return item;
  }));
}

function title({ error, state }) {
  if (state === 'succeeded') {
    return t('outcome.won');
  }
  if (state === 'processing') {
    return t('outcome.sending');
  }
  if (error?.transient && error.code !== 'overloaded') {
    return t('outcome.unsure');
  }

  return t(error && error.status !== 409 ? 'outcome.refused' : 'outcome.lost');
}

function detail({ error, purchase, retrying, state }, limit) {
  switch (state) {
    case 'processing':
      if (purchase) {
        return t('outcome.followingDetail');
      }

      return t(retrying ? 'outcome.retryingDetail' : 'outcome.sendingDetail');
    case 'succeeded':
      return t('outcome.wonDetail');
    case 'failed':
      return error ? failureText(error.code, { limit }, error.detail) : reason(purchase, limit);
    default:
      return '';
  }
}

// The service's own words, unless the page speaks another language than the one that the browser asked it for.
function reason(purchase, limit) {
  return (native && purchase.message) || failureText(purchase.reason, { limit });
}

function drawPrice(sale) {
  const shown = `${sale.price} ${sale.currency}`;
  if ($('price').dataset.shown === shown) {
    return;
  }
  $('price').dataset.shown = shown;
  const parts = format.priceParts(sale.price, sale.currency);
  $('price').replaceChildren(...parts.map(({ type, value }) => part('span', type, value)));
}

function digits(clock) {
  return clock.split(/(:)/).map((piece) => part('span', piece === ':' ? 'colon' : 'digits', piece));
}

function part(name, className, words) {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = words;

  return element;
}

function slip(id, words) {
  text(id, words ?? '');
  $(id).closest('div').hidden = !words;
}

// Writes only what differs: a live region that is written again may be read out again.
function text(id, words) {
  const element = $(id);
  if (element.textContent !== words) {
    element.textContent = words;
  }
}
