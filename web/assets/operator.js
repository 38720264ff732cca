// The operator's page: the sales, and one of them, or the form for a new one.

import { fill } from './chart.js';
import { ServerClock, sleep } from './clock.js';
import * as forms from './operator-forms.js';
import * as view from './operator-view.js';
import { words } from './operator-words.js';
import { supersedes } from './sale.js';
import { call, CallError, settings } from './seckill.js';
import { language, speak, t, translate } from './text.js';

const LIST_PACE = 3000;
const FIGURES_PACE = 1000;
const SPAN = 90; // seconds that the chart shows

const clock = new ServerClock();
const $ = (id) => document.getElementById(id);

let cursors = ['']; // of the pages of the list that are shown
let shown = null; // the sale, as it was heard of last
let stream = null; // its state and stock, live: one stream, as a browser has six connections to a server
let misses = 0;

settings.language = language;
speak(words);
translate(document);
view.linkHome($('home'));
window.addEventListener('hashchange', select);
$('filter').addEventListener('change', () => {
  cursors = [''];
  list();
});
$('more').addEventListener('click', () => {
  cursors.push($('more').dataset.cursor);
  list();
});
forms.listen({ changed, scheduled, sale: () => shown });
select();
repeat(LIST_PACE, list);
repeat(FIGURES_PACE, figures);

/** Does something again and again, but not while nobody sees the page. */
async function repeat(pace, what) {
  for (;;) {
    if (!document.hidden) {
      await what();
    }
    await sleep(pace);
  }
}

/** Shows what the address asks for: a sale, the form, or the newest sale. */
async function select() {
  const asked = location.hash.slice(1);
  stream?.close();
  stream = null;
  shown = null;
  view.show(asked === 'new' ? 'schedule' : 'nothing');
  view.mark(asked);
  if (asked === 'new') {
    forms.begin(clock.now());
  } else if (/^\d+$/.test(asked)) {
    await open(asked);
  }
}

async function open(saleId) {
  const sale = await tried(() => call(`/sales/${saleId}`), { missing: () => view.show('missing') });
  if (!sale || location.hash.slice(1) !== saleId) {
    return;
  }
  shown = null;
  hear(sale);
  view.show('sale');
  forms.fill(sale);
  figures();

  // EventSource comes back by itself as long as the sale goes on.
  stream = new EventSource(`/sales/${saleId}/events`);
  stream.addEventListener('sale', ({ data }) => hear(JSON.parse(data)));
}

/** Draws a sale unless what is shown is newer. */
function hear(sale) {
  if (shown && (String(sale.saleId) !== String(shown.saleId) || !supersedes(sale, shown))) {
    return;
  }
  shown = { ...shown, ...sale };
  view.drawSale(shown, clock.now());
}

async function list() {
  const filter = $('filter').value;
  const pages = [];
  for (const cursor of cursors) {
    const query = new URLSearchParams({ limit: 20, ...(filter && { status: filter }), ...(cursor && { cursor }) });
    const asked = performance.now();
    const page = await tried(() => call(`/sales?${query}`));
    if (!page || $('filter').value !== filter) {
      return;
    }
    for (const { serverTime } of page.sales) {
      clock.observe(serverTime, asked, performance.now());
    }
    pages.push(page);
  }
  const sales = pages.flatMap((page) => page.sales);
  view.drawList(sales, { next: pages.at(-1).next, now: clock.now(), selected: location.hash.slice(1) });
  if (location.hash === '' && sales.length > 0) {
    location.replace(`#${sales[0].saleId}`);
  }
}

/** What the stream does not tell: the figures, and what happened in the latest seconds. */
async function figures() {
  const { saleId } = shown ?? {};
  if (saleId === undefined) {
    return;
  }
  const [sale, activity] = await Promise.all([
    tried(() => call(`/sales/${saleId}`)),
    tried(() => call(`/sales/${saleId}/activity?seconds=${SPAN + 5}`)),
  ]);
  if (shown?.saleId !== saleId) {
    return;
  }
  if (sale) {
    hear(sale);
    view.drawFigures(sale.figures);
  }
  if (activity) {
    view.drawActivity(fill(activity.seconds, Date.parse(activity.serverTime) - 1000, SPAN));
  }
}

function changed(sale) {
  hear(sale);
  forms.fill(sale);
  list();
}

function scheduled(sale) {
  $('filter').value = '';
  cursors = [''];
  location.hash = sale.saleId;
  list();
}

/** Resolves to what a call answers, undefined where it fails, which the page then says. */
async function tried(ask, { missing } = {}) {
  try {
    const answer = await ask();
    misses = 0;
    view.notice('');

    return answer;
  } catch (error) {
    if (!(error instanceof CallError)) {
      throw error;
    }
    if (error.status === 404 && missing) {
      missing();
    } else {
      misses += 1;
      view.notice(misses > 2 ? t('notice.reconnecting') : '');
    }

    return undefined;
  }
}
