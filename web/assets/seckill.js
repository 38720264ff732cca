// Seckill for browsers, in one module without dependencies: press once, and learn the result, whatever happens on the way.
//
//   import { buy } from 'https://shop.example/seckill.js';
//
//   try {
//     const purchase = await buy(1001, { userId: '42', progress: ({ purchase, retrying }) => draw(purchase, retrying) });
//     draw(purchase); // its status is succeeded or failed
//   } catch (error) {
//     explain(error.code); // refused: sold_out, sale_not_open, …; or out of reach: network, unavailable, …
//   }
//
// A press has an idempotency key, and is kept in the tab's storage before anything is sent: neither a retry nor a reload in the
// middle can buy twice or lose what was bought. After a reload, resume() carries on.

const KEY = 'seckill.press';

// A press that was being sent when the page went away is sent again if the page is back within this time. Later nobody
// expects it any more.
const RESUME = 60_000;

const TRIES = 6;
const LONGEST_WAIT = 15_000;

// A stream or a socket says the current state as soon as it opens. Where nothing arrives, something on the way holds it back.
const FIRST_WORD = 3000;

// Deciding takes milliseconds, seconds in a rush. What is silent for longer may be dead without anyone knowing: a node that
// went away, a network that changed, a computer that slept.
const RESULT = 15_000;

const WAIT = 30_000;
const POLL = 1500;
const LONGEST_POLL = 10_000;

/**
 * The language that the service is asked to speak; the browser's unless it is set. The token that says who calls, where the
 * service asks for one and there is no cookie.
 */
export const settings = { language: navigator.language, token: null };

/** A call that failed. */
export class CallError extends Error {
  /** The problem's stable code; `network` where no answer came, or none that could be read. */
  code;

  /** The service's own words, if it had any. */
  detail;

  /** Where the request is at fault: `{location, message}` each. */
  errors;

  /** How long the service asks to wait before the next try, in milliseconds; null where it does not say. */
  retryAfter;

  /** The HTTP status, 0 where there was none. */
  status;

  constructor({ code = 'network', detail = '', errors = [], retryAfter = null, status = 0 } = {}) {
    super(`${code} (${status})`);
    Object.assign(this, { code, detail, errors, retryAfter, status });
  }

  /** Whether the same call may succeed later. It may also have been carried out: repeat it only where that does no harm. */
  get transient() {
    return [0, 502, 503, 504].includes(this.status);
  }
}

/**
 * Buys one unit of a sale for a buyer (who may be left out where a token says who calls), and resolves to the decided purchase: its `status` is `succeeded`, with an `orderId`,
 * or `failed`, with a `reason`. Throws a CallError where the service refused the press, or could not be reached for long.
 *
 * Calls progress with `{retrying}` while the press is being sent and with `{purchase}` once it is accepted.
 */
export function buy(saleId, { progress, userId }) {
  return carry(begin(saleId, userId), progress);
}

/** Carries on what a reload interrupted in this tab, as buy does. Returns null where there is nothing to carry on. */
export function resume({ progress } = {}) {
  const press = resumable();

  return press && press.stage !== 'decided' ? carry(press, progress) : null;
}

/**
 * The press that a reload should carry on, or null: one that is being sent or followed, or one that is decided, whose result
 * can then be shown again.
 */
export function resumable() {
  const press = kept.read();
  const stale = press?.stage === 'unknown' || (press?.stage === 'sending' && Date.now() - press.at > RESUME);

  return stale ? null : press;
}

/** Forgets the press, and with it the result that a reload would show again. */
export function forget() {
  kept.write(null);
}

/**
 * A new press. Its `stage` is `sending`, then `following` (accepted, and `purchase` is known), in the end `decided`, or
 * `unknown` where it was given up without an answer. Such a press may have arrived all the same, so the next one by the same
 * buyer repeats it, under its key.
 */
export function begin(saleId, userId) {
  const last = kept.read();
  const repeats = last?.stage === 'unknown' && last.saleId === saleId && last.userId === userId;

  return keep({ at: Date.now(), key: repeats ? last.key : newKey(), saleId, stage: 'sending', userId });
}

/** Carries a press to its end, as buy does. */
export async function carry(press, progress = () => {}) {
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

/** Calls the service. Resolves to the answer's JSON; throws a CallError. */
export async function call(url, { body, headers = {}, method = 'GET', timeout = 10_000 } = {}) {
  let response;
  let answer;
  try {
    response = await fetch(address(url), {
      body: body && JSON.stringify(body),
      cache: 'no-store',
      headers: {
        'Accept-Language': settings.language,
        ...(settings.token && { Authorization: `Bearer ${settings.token}` }),
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      method,
      signal: AbortSignal.timeout(timeout),
    });
    answer = await response.text();
  } catch {
    throw new CallError();
  }

  const json = parse(answer);
  if (response.ok && json) {
    return json;
  }
  if (response.ok) {
    throw new CallError(); // Something between here and the service answered in its place.
  }

  throw new CallError({
    code: json?.code ?? `http_${response.status}`,
    detail: json?.detail ?? json?.title,
    errors: json?.errors,
    retryAfter: milliseconds(response.headers.get('Retry-After')),
    status: response.status,
  });
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
      const wait = (error.retryAfter ?? 0) + jittered(400 * 2 ** (tries - 1));
      if (!error.transient || tries === TRIES || wait > LONGEST_WAIT) {
        throw error;
      }
      retrying();
      await pause(wait);
    }
  }
}

/**
 * Resolves to the decided purchase, by the best way that works from here. What the service has accepted it decides, so this
 * goes on through outages of any length; it throws a CallError only where the service will not tell (it does not know the
 * request, or the caller may not see it).
 */
async function follow(purchase) {
  if (decided(purchase)) {
    return purchase;
  }
  for (const way of [byEvents, bySocket, byLongPoll]) {
    try {
      return await way(purchase.links);
    } catch {
      // The next way works in more places.
    }
  }

  return byPolling(purchase.links);
}

function byEvents(links) {
  return pushed((heard, broken) => {
    const source = new EventSource(address(links.events));
    source.addEventListener('processing', ({ data }) => heard(data));
    source.addEventListener('result', ({ data }) => heard(data));
    // EventSource would connect again by itself, after seconds; the next way is there at once.
    source.addEventListener('error', broken);

    return source;
  });
}

function bySocket(links) {
  return pushed((heard, broken) => {
    const url = address(links.ws);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    socket.addEventListener('message', ({ data }) => heard(data));
    socket.addEventListener('error', broken);
    socket.addEventListener('close', broken);

    return socket;
  });
}

/** Resolves to the decided purchase that a connection is told; rejects where it breaks or is silent for too long. */
function pushed(connect) {
  return new Promise((resolve, reject) => {
    let connection;
    let patience;

    const end = (settle, value) => {
      clearTimeout(patience);
      connection?.close();
      settle(value);
    };
    const expect = (ms) => {
      clearTimeout(patience);
      patience = setTimeout(() => end(reject, new Error('silent')), ms);
    };

    expect(FIRST_WORD);
    connection = connect((data) => {
      const purchase = parse(data);
      if (decided(purchase)) {
        end(resolve, purchase);
      } else {
        expect(RESULT);
      }
    }, () => end(reject, new Error('broken')));
  });
}

async function byLongPoll(links) {
  const url = address(links.self);
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
  for (let failures = 0; ;) {
    let wait = POLL;
    try {
      const purchase = await call(links.self);
      if (decided(purchase)) {
        return purchase;
      }
      failures = 0;
    } catch (error) {
      if (!error.transient && error.status !== 429 && error.status < 500) {
        throw error;
      }
      failures += 1;
      wait = Math.max(jittered(Math.min(POLL * 2 ** failures, LONGEST_POLL)), error.retryAfter ?? 0);
    }
    await pause(wait);
  }
}

function decided(purchase) {
  return purchase?.status === 'succeeded' || purchase?.status === 'failed';
}

/** An address of the service, which is where this module comes from. */
function address(url) {
  return new URL(url, import.meta.url);
}

/** Resolves after so many milliseconds, or as soon as the browser is online again. */
function pause(ms) {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      removeEventListener('online', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    addEventListener('online', over);
  });
}

/** Somewhat less, at random: so that those who failed in the same instant do not come back in the same. */
function jittered(ms) {
  return ms * (0.5 + Math.random() / 2);
}

/** Reads a Retry-After header: seconds, or a date. */
function milliseconds(header) {
  if (!header) {
    return null;
  }
  const wait = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();

  return Number.isFinite(wait) ? Math.max(0, wait) : null;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// crypto.randomUUID is not there on pages that came over plain HTTP from another machine.
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function keep(press) {
  kept.write(press);

  return press;
}

// The tab's storage. A browser may refuse to keep anything (private windows, blocked site data): then a reload forgets.
const kept = {
  read() {
    try {
      return JSON.parse(sessionStorage.getItem(KEY));
    } catch {
      return null;
    }
  },

  write(press) {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(press));
    } catch {
      // Full, or refused.
    }
  },
};
