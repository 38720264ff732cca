// What is on the operator's screen, drawn from what is given.

import { draw, LINES } from './chart.js';
import * as format from './format.js';
import { link, t } from './text.js';

const $ = (id) => document.getElementById(id);

/** Shows one of `sale`, `schedule`, `missing`, or nothing. */
export function show(what) {
  for (const id of ['sale', 'schedule', 'missing']) {
    $(id).hidden = id !== what;
  }
  if (what !== 'sale') {
    document.title = t('brand');
  }
}

/** Tells of a lasting trouble with the connection, or that it is over. */
export function notice(words) {
  text($('notice'), words);
  $('notice').hidden = words === '';
}

/** Leads to the buyers' page in the same language. */
export function linkHome(anchor) {
  anchor.href = link();
}

/** Draws the list of sales. The entries stay where they are, so that a click never meets another one. */
export function drawList(sales, { next, now, selected }) {
  const list = $('sales');
  const entries = new Map([...list.children].map((entry) => [entry.dataset.sale, entry]));
  sales.forEach((sale, i) => {
    const id = String(sale.saleId);
    const item = entries.get(id) ?? entry(id);
    entries.delete(id);
    drawEntry(item, sale, now);
    if (list.children[i] !== item) {
      list.insertBefore(item, list.children[i] ?? null);
    }
  });
  for (const gone of entries.values()) {
    gone.remove();
  }
  list.setAttribute('aria-busy', 'false');
  $('no-sales').hidden = sales.length > 0;
  $('more').hidden = !next;
  mark(selected);
}

/** Marks the entry of the sale that is shown. */
export function mark(selected) {
  for (const item of $('sales').children) {
    item.firstElementChild.ariaCurrent = item.dataset.sale === selected ? 'true' : null;
  }
}

function entry(id) {
  const item = document.createElement('li');
  const anchor = document.createElement('a');
  item.dataset.sale = id;
  anchor.href = `#${id}`;
  anchor.append(...['name', 'badge', 'left', 'when'].map((className) => {
    const part = document.createElement('span');
    part.className = className;

    return part;
  }));
  item.append(anchor);

  return item;
}

function drawEntry(item, sale, now) {
  const part = (className) => item.querySelector(`.${className}`);
  text(part('name'), sale.name || `#${sale.saleId}`);
  badge(part('badge'), sale.status);
  text(part('left'), `${format.count(sale.available)} / ${format.count(sale.stock)}`);
  const next = sale.status === 'scheduled' ? 'opensAt' : 'closesAt';
  text(part('when'), `${t(next)} ${format.moment(sale[next], now)}`);
}

/** Draws one sale. */
export function drawSale(sale, now) {
  document.title = t('title', { name: sale.name });
  text($('name'), sale.name || `#${sale.saleId}`);
  text($('ids'), t('ids', sale));
  badge($('state'), sale.status);

  $('available').value = sale.available;
  text($('available'), format.count(sale.available));
  text($('of-stock'), t('ofStock', { stock: format.count(sale.stock) }));
  $('meter').setAttribute('aria-valuemax', sale.stock);
  $('meter').setAttribute('aria-valuenow', sale.available);
  $('meter-fill').style.setProperty('--share', sale.stock > 0 ? sale.available / sale.stock : 0);

  text($('price'), format.priceParts(sale.price, sale.currency).map(({ value }) => value).join(''));
  text($('limit'), format.count(sale.perUserLimit));
  text($('payment-timeout'), format.duration(sale.paymentTimeout));
  text($('opens'), format.moment(sale.opensAt, now, { seconds: true }));
  text($('closes'), format.moment(sale.closesAt, now, { seconds: true }));

  const closed = sale.status === 'closed';
  $('commands').hidden = closed;
  $('over').hidden = !closed;
  $('pause').hidden = sale.status === 'paused';
  $('resume').hidden = sale.status !== 'paused' && sale.status !== 'scheduled'; // which may be paused too: it does not say
}

/** Draws what has become of the purchases so far. */
export function drawFigures({ confirmed, paid, pending, turnedAway }) {
  text($('pending'), format.count(pending));
  text($('confirmed'), format.count(confirmed));
  text($('paid'), format.count(paid));
  text($('turned-away'), format.count(turnedAway));
}

/** Draws the chart of the seconds, oldest first. */
export function drawActivity(seconds) {
  const sum = (of) => format.count(seconds.reduce((total, second) => total + of(second), 0));
  draw($('chart'), seconds, { count: format.count, label: (n) => (n === 0 ? t('now') : t('ago', { n })) });
  text($('chart-words'), t('chartWords', {
    confirmations: sum(LINES.confirmations),
    most: format.count(Math.max(...seconds.map(LINES.requests))),
    n: seconds.length,
    refusals: sum(LINES.refusals),
    requests: sum(LINES.requests),
  }));
}

function badge(element, status) {
  element.dataset.status = status;
  text(element, t(`state.${status}`));
}

// Writes only what differs, so that a selection or a reader is not disturbed.
function text(element, words) {
  if (element.textContent !== words) {
    element.textContent = words;
  }
}
