// One press of the button, from the click to the result. It is kept in the tab's storage with its idempotency key before
// anything is sent, so that neither a retry nor a reload in the middle can buy twice or lose what was bought.

import { call } from './api.js';
import { randomHex } from './buyer.js';
import { sleep } from './clock.js';
import { follow } from './follow.js';
import { tab } from './storage.js';

const KEY = 'seckill.press';

// A press that was being sent when the page went away is sent again if the page is back within this time. Later nobody
// expects it any more.
const RESUME = 60_000;

const TRIES = 6;
const LONGEST_WAIT = 15_000;

/**
 * The press that a reload should carry on, or null: one that is being sent or followed, or one that is decided, whose result
 * is then shown again.
 */
export function resumable() {
  const press = tab.get(KEY);
  const stale = press?.stage === 'unknown' || (press?.stage === 'sending' && Date.now() - press.at > RESUME);

  return stale ? null : press;
}

/** Forgets the press, and with it the result that a reload would show again. */
export function forget() {
  tab.remove(KEY);
}

/**
 * A new press. Its `stage` is `sending`, then `following` (accepted, and `purchase` is known), in the end `decided`, or
 * `unknown` where it was given up without an answer. Such a press may have arrived all the same, so the next one by the same
 * buyer repeats it, under its key.
 */
export function begin(saleId, userId) {
  const last = tab.get(KEY);
  const repeats = last?.stage === 'unknown' && last.saleId === saleId && last.userId === userId;
  const key = repeats ? last.key : crypto.randomUUID?.() ?? randomHex(16);

  return keep({ at: Date.now(), key, saleId, stage: 'sending', userId });
}

/**
 * Carries a press to its end and resolves to the decided purchase; throws a CallError where there is none. Calls progress with
 * `{retrying}` while the press is being sent and with `{purchase}` once it is accepted.
 */
export async function carry(press, progress) {
  try {
    if (press.stage === 'sending') {
      progress({ retrying: false });
      const purchase = await send(press, () => progress({ retrying: true }));
      press = keep({ ...press, purchase, stage: 'following' });
    }
    progress({ purchase: press.purchase });

    const purchase = await follow(press.purchase);
    keep({ ...press, purchase, stage: 'decided' });

    return purchase;
  } catch (error) {
    if (error.transient) {
      keep({ ...press, stage: 'unknown' });
    } else {
      forget();
    }
    throw error;
  }
}

/** Posts the press, again and again while the service is out of reach or overloaded, always under the same key. */
async function send(press, retrying) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call(`/sales/${encodeURIComponent(press.saleId)}/purchases`, {
        body: { quantity: 1, userId: press.userId },
        headers: { 'Idempotency-Key': press.key },
        method: 'POST',
      });
    } catch (error) {
      const wait = (error.retryAfter ?? 0) + 400 * 2 ** (tries - 1) * (0.5 + Math.random() / 2);
      if (!error.transient || tries === TRIES || wait > LONGEST_WAIT) {
        throw error;
      }
      retrying();
      await sleep(wait);
    }
  }
}

function keep(press) {
  tab.set(KEY, press);

  return press;
}
