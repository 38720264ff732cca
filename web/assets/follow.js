// Following an accepted purchase to its result, by the best way that works from here: pushed by server-sent events, else
// answered to a long poll, else asked for again and again.

import { CallError, call } from './api.js';
import { sleep } from './clock.js';

// The stream says the current state as soon as it opens. Where nothing arrives, something on the way holds it back.
const FIRST_WORD = 3000;

// Deciding takes milliseconds, seconds in a rush. A stream that is silent for longer may be dead without anyone knowing.
const RESULT = 15_000;

const WAIT = 30_000;
const POLL = 1500;

/**
 * Resolves to the decided purchase. What the service has accepted it decides, so this goes on through outages of any length;
 * it throws a CallError only where the service will not tell (it does not know the request, or the caller may not see it).
 */
export async function follow(purchase) {
  if (decided(purchase)) {
    return purchase;
  }

  for (const way of [byEvents, byLongPoll]) {
    try {
      return await way(purchase.links);
    } catch {
      // The next way works in more places.
    }
  }

  return byPolling(purchase.links);
}

function decided(purchase) {
  return purchase.status === 'succeeded' || purchase.status === 'failed';
}

function byEvents(links) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(links.events);
    let patience;

    const end = (settle, value) => {
      clearTimeout(patience);
      source.close();
      settle(value);
    };
    const expect = (ms) => {
      clearTimeout(patience);
      patience = setTimeout(() => end(reject, new Error('silent stream')), ms);
    };

    expect(FIRST_WORD);
    source.addEventListener('processing', () => expect(RESULT));
    source.addEventListener('result', (event) => end(resolve, JSON.parse(event.data)));
    // EventSource would connect again by itself, after seconds; the long poll is there at once.
    source.addEventListener('error', () => end(reject, new Error('broken stream')));
  });
}

async function byLongPoll(links) {
  const url = new URL(links.self, location.href);
  url.searchParams.set('wait', `${WAIT / 1000}s`);

  for (;;) {
    const asked = performance.now();
    const purchase = await call(url, { timeout: WAIT + 10_000 });
    if (decided(purchase)) {
      return purchase;
    }
    // Answered without a result and without the wait: asking on at this pace would be a flood.
    if (performance.now() - asked < POLL) {
      throw new Error('not held');
    }
  }
}

async function byPolling(links) {
  for (;;) {
    let wait = POLL;
    try {
      const purchase = await call(links.self);
      if (decided(purchase)) {
        return purchase;
      }
    } catch (error) {
      if (!mayPass(error)) {
        throw error;
      }
      wait = Math.max(POLL, error.retryAfter ?? 0);
    }
    await sleep(wait);
  }
}

function mayPass(error) {
  return error instanceof CallError && (error.transient || error.status === 429 || error.status >= 500);
}
