// The buyers' page: one sale, one button, one outcome at a time.

import * as buyer from './buyer.js';
import { ServerClock, sleep } from './clock.js';
import * as sales from './sale.js';
import * as press from './seckill.js';
import * as session from './session.js';
import { language, speak, t, translate } from './text.js';
import * as view from './view.js';
import { words } from './words.js';

const clock = new ServerClock();
const buy = document.getElementById('buy');
const name = document.getElementById('buyer');

let sale;

// How the last press stands: `state` is `idle`, `processing`, `succeeded` or `failed`. With it `purchase`, as soon as the
// service has accepted it; `retrying` while it cannot be reached; `error` where the press failed without being decided.
let outcome = { state: 'idle' };

// How many units each buyer is known to hold.
const held = new Map();

// Before this moment (by performance.now()) the service does not want to hear from this buyer again.
let holdOff = 0;

// Clicks that are closer than this are one press: the halves of a double click, or a key that is held down. The result may
// come between them.
const ONE_PRESS = 700;

let clickedAt = -Infinity;

press.settings.language = language;
speak(words);
translate(document);
session.enter();
name.value = buyer.remembered();
name.addEventListener('input', renaming);
name.addEventListener('change', renamed);
start();

async function start() {
  sale = await find();
  await introduce();

  view.show('sale');
  draw();
  setInterval(drawTick, 100);

  sales.watch(sale.saleId, clock, {
    heard(answer) {
      view.notice('');
      if (sales.supersedes(answer, sale)) {
        sale = answer;
        draw();
      }
    },
    missed(misses) {
      view.notice(misses > 2 ? t('notice.reconnecting') : '');
    },
  });

  buy.addEventListener('click', pressed);
  const last = press.resumable();
  if (last?.saleId === sale.saleId) {
    if (!name.disabled) {
      name.value = buyer.rename(last.userId);
    }
    carry(last);
  }
}

/** Where the service knows who calls, buyers do not name themselves. */
async function introduce() {
  for (;;) {
    try {
      const { auth, userId } = await session.me();
      if (auth !== 'trust') {
        name.value = userId ?? '';
        name.placeholder = t('signIn');
        name.disabled = true;
      }

      return;
    } catch (error) {
      if (!(error instanceof press.CallError)) {
        throw error;
      }
      view.notice(t('notice.reconnecting'));
    }
    await sleep(1000);
  }
}

/** Resolves to the sale to show, however long it takes until there is one. */
async function find() {
  const asked = new URLSearchParams(location.search).get('sale');

  for (;;) {
    const last = press.resumable();
    const id = asked ?? (last && last.stage !== 'decided' ? last.saleId : null);
    try {
      const all = await sales.list(clock);
      view.notice('');
      drawOthers(all, id);

      const found = id === null ? sales.choose(all) : await sales.read(id, clock);
      if (found) {
        drawOthers(all, found.saleId);

        return found;
      }
      view.show('empty');
    } catch (error) {
      if (!(error instanceof press.CallError)) {
        throw error;
      }
      if (error.status !== 404) {
        view.notice(t('notice.reconnecting'));
      } else if (asked === null) {
        press.forget(); // The sale of a press that this tab remembers is gone.
      } else {
        view.show('missing');
      }
    }
    await sleep(3000);
  }
}

function drawOthers(all, shownId) {
  const current = all.filter(({ status }) => status === 'open' || status === 'scheduled');
  const others = current.filter(({ saleId }) => String(saleId) !== String(shownId));
  view.drawOthers(others.slice(0, 4), clock.now());
}

function pressed({ timeStamp }) {
  const again = timeStamp - clickedAt < ONE_PRESS;
  clickedAt = timeStamp;
  if (again || outcome.state === 'processing' || sales.phase(sale, clock.now()) !== 'open') {
    return;
  }
  carry(press.begin(sale.saleId, named()));
}

async function carry(current) {
  // At once, before anything is awaited: a second click finds the first one in progress.
  become({ state: 'processing' });

  try {
    const purchase = await press.carry(current, (progress) => become({ state: 'processing', ...progress }));
    learn(current.userId, purchase);
    become({ purchase, state: purchase.status });
  } catch (error) {
    holdOff = performance.now() + (error.retryAfter ?? 0);
    become({ error, state: 'failed' });
  }
}

/** Who buys: the name in the field, or, where the service knows who calls, whoever that is. */
function named() {
  if (name.disabled) {
    return name.value || undefined;
  }
  name.value = buyer.rename(name.value);

  return name.value;
}

// A press is for one unit. Who may not have one more has all, wherever they were bought.
function learn(userId, { reason, status }) {
  if (status === 'succeeded') {
    held.set(userId, (held.get(userId) ?? 0) + 1);
  } else if (reason === 'limit_exceeded') {
    held.set(userId, sale.perUserLimit);
  }
}

// Another buyer has another story. It starts with the first keystroke, not when the field is left: the page must not move
// under a pointer that is already on the button.
function renaming() {
  if (outcome.state !== 'idle') {
    press.forget();
    holdOff = 0;
    become({ state: 'idle' });
  }
}

function renamed() {
  name.value = buyer.rename(name.value);
}

function become(next) {
  outcome = next;
  view.drawOutcome(outcome, { limit: sale.perUserLimit, now: clock.now() });
  drawTick();
}

function draw() {
  view.drawSale(sale, clock.now());
  drawTick();
}

function drawTick() {
  const now = clock.now();
  const phase = sales.phase(sale, now);
  const wait = Math.ceil(Math.max(0, holdOff - performance.now()) / 1000);

  view.drawClock(sale, phase, now);
  view.drawButton(phase, outcome, { full: held.get(name.value.trim()) >= sale.perUserLimit, wait });
}
