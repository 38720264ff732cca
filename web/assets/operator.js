// The operator's page: the sales, and one of them, or the form for a new one.

import { fill } from './chart.js';
import { ServerClock, sleep } from './clock.js';
import * as forms from './operator-forms.js';
import * as view from './operator-view.js';
import { words } from './operator-words.js';
import { supersedes } from './sale.js';
import { call, CallError, settings } from './seckill.js';
import { enter } from './session.js';
import { language, speak, t, translate } from './text.js';

const LIST_PACE = 3000;
const FIGURES_PACE = 1000;
const SPAN = 90; // seconds that the chart shows

const clock = new ServerClock();
const $ = (id) => document.getElementById(id);

let asked = null; // the sale that the address asks for, unless there is none
let lists = 0; // how often the list was asked for
let pages = 1; // of the list, as far as it is shown
let shown = null; // the sale, as it was heard of last
let stream = null; // its state and stock, live: one stream, as a browser has six connections to a server
let misses = 0;

settings.language = language;
speak(words);
translate(document);
enter();
view.linkHome($('home'));
window.addEventListener('hashchange', () => {
  select();
  list();
});
$('filter').addEventListener('change', () => {
  pages = 1;
  list();
});
$('more').addEventListener('click', () => {
  pages += 1;
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

/** Shows what the address asks for: a sale, the form, or, as soon as the list is there, the newest sale. */
function select() {
  const hash = location.hash.slice(1);
  stream?.close();
  stream = null;
  shown = null;
  asked = /^[1-9]\d*$/.test(hash) ? hash : null;
  view.show(hash === 'new' ? 'schedule' : 'nothing');
  view.mark(hash);
  if (hash === 'new') {
    forms.begin(clock.now());
  }
  open();
}

/** Opens the sale that is asked for, if it can be read; figures comes back to it if not. */
async function open() {
  const saleId = asked;
  if (saleId === null) {
    return;
  }
  const sale = await tried(() => call(`/sales/${saleId}`), {
    missing() {
      if (asked === saleId) {
        asked = null;
        view.show('missing');
      }
    },
  });
  if (!sale || asked !== saleId || shown) {
    return;
  }
  hear(sale);
  view.drawFigures(sale.figures);
  view.drawActivity(fill([], 0, SPAN)); // what is there is another sale's
  view.show('sale');
  follow();
  figures();
}

/** EventSource comes back by itself from a broken connection, but not from an answer that is no stream. */
function follow() {
  stream?.close();
  stream = new EventSource(`/sales/${asked}/events`);
  stream.addEventListener('sale', ({ data }) => hear(JSON.parse(data)));
}

/** Draws a sale unless what is shown is newer, or another one. */
function hear(sale) {
  if (String(sale.saleId) !== asked || (shown && !supersedes(sale, shown))) {
    return;
  }
  shown = sale;
  view.drawSale(shown, clock.now());
  forms.follow(shown);
}

async function list() {
  lists += 1;
  const turn = lists;
  const filter = $('filter').value;
  const sales = [];
  let next = '';
  // Page by page anew: the cursors move with every sale that is scheduled.
  for (let page = 0; page < pages && next !== undefined; page += 1) {
    const query = new URLSearchParams({ limit: 20, ...(filter && { status: filter }), ...(next && { cursor: next }) });
    const sent = performance.now();
    const answer = await tried(() => call(`/sales?${query}`));
    if (!answer || turn !== lists) {
      return;
    }
    for (const { serverTime } of answer.sales) {
      clock.observe(serverTime, sent, performance.now());
    }
    sales.push(...answer.sales);
    next = answer.next;
  }
  view.drawList(sales, { next, now: clock.now(), selected: location.hash.slice(1) });
  if (location.hash === '' && sales.length > 0) {
    location.replace(`#${sales[0].saleId}`);
  }
}

/** What the stream does not tell: the figures, and what happened in the latest seconds. */
async function figures() {
  if (!shown) {
    await open();

    return;
  }
  if (stream.readyState === EventSource.CLOSED && shown.status !== 'closed') {
    follow();
  }
  const { saleId } = shown;
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
  list();
}

function scheduled(sale) {
  $('filter').value = '';
  pages = 1;
  location.hash = sale.saleId;
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
      if (error.status === 401 || error.status === 403) {
        view.notice(t(`failure.${error.code}`));
      } else {
        view.notice(misses > 2 ? t('notice.reconnecting') : '');
      }
    }

    return undefined;
  }
}
