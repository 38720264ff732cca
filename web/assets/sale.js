// One sale: which one to show, what it is at a given moment, and keeping up with it.

import { sleep } from './clock.js';
import { call } from './seckill.js';

/** Resolves to the newest sales, as many as the service tells of at once; throws a CallError. */
export async function list(clock) {
  const asked = performance.now();
  const { sales } = await call('/sales?limit=100');
  for (const sale of sales) {
    clock.observe(sale.serverTime, asked, performance.now());
  }

  return sales;
}

/** Resolves to one sale; throws a CallError. */
export async function read(saleId, clock) {
  const asked = performance.now();
  const sale = await call(`/sales/${encodeURIComponent(saleId)}`, { timeout: 5000 });
  clock.observe(sale.serverTime, asked, performance.now());

  return sale;
}

/** The sale for a buyer who asked for none: one that is open, else one that is held up, else the next, else the last. */
export function choose(sales) {
  const opening = (sale) => Date.parse(sale.opensAt);
  const inOrder = [...sales].sort((a, b) => opening(a) - opening(b));

  for (const status of ['open', 'paused', 'scheduled']) {
    const sale = inOrder.find((candidate) => candidate.status === status);
    if (sale) {
      return sale;
    }
  }

  return inOrder.at(-1);
}

/**
 * What the sale is at this moment by the server's clock: its status as last heard, moved on where a time has come since. So
 * the button opens on the second, not with the next answer.
 */
export function phase(sale, now) {
  if (sale.status === 'closed' || now >= Date.parse(sale.closesAt)) {
    return 'closed';
  }
  if (sale.status === 'scheduled' && now >= Date.parse(sale.opensAt)) {
    return sale.available > 0 ? 'open' : 'sold_out';
  }

  return sale.status;
}

/** Whether an answer may replace what is shown: never by an older revision, nor by an older look at the same one. */
export function supersedes(answer, shown) {
  if (answer.revision !== shown.revision) {
    return answer.revision > shown.revision;
  }

  return Date.parse(answer.serverTime) >= Date.parse(shown.serverTime);
}

/**
 * Keeps asking for the sale for as long as the page lives, pausing while nobody sees it. Calls heard with each answer, and
 * missed with the number of tries in a row that had none.
 */
export async function watch(saleId, clock, { heard, missed }) {
  let misses = 0;
  let pace = 1000;

  for (;;) {
    // A little randomness keeps thousands of pages, all loaded in the same second, from asking in the same instant.
    await sleep(pace * (0.9 + 0.2 * Math.random()));
    await visible();

    let sale;
    try {
      sale = await read(saleId, clock);
    } catch (error) {
      misses += 1;
      pace = Math.max(error.retryAfter ?? 0, Math.min(1000 * misses, 5000));
      missed(misses);
      continue;
    }
    misses = 0;
    pace = paceFor(sale, clock.now());
    heard(sale);
  }
}

/** Every second where something may happen any moment, every five where nothing will soon. */
function paceFor(sale, now) {
  const far = sale.status === 'scheduled' && Date.parse(sale.opensAt) - now > 60_000;

  return far || sale.status === 'closed' ? 5000 : 1000;
}

async function visible() {
  while (document.hidden) {
    await new Promise((resolve) => {
      document.addEventListener('visibilitychange', resolve, { once: true });
    });
  }
}
