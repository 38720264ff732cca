// Calls to the service: JSON in, JSON out, and every failure as one kind of error.

import { language } from './text.js';

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

/** Resolves to the answer's JSON; throws a CallError. */
export async function call(url, { body, headers = {}, method = 'GET', timeout = 10_000 } = {}) {
  let response;
  let answer;
  try {
    response = await fetch(url, {
      body: body && JSON.stringify(body),
      cache: 'no-store',
      headers: { 'Accept-Language': language, ...(body && { 'Content-Type': 'application/json' }), ...headers },
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
