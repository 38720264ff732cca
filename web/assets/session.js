// Who uses the page, where the service does not just trust its callers.

import { call, settings } from './seckill.js';

const KEY = 'seckill.token';

/**
 * Takes the token that the page's address may carry (#token=…) out of it and keeps it for this tab; without one, a cookie of
 * the shop's may do. A token in the fragment is not sent to the server with the page, and not kept in the history.
 */
export function enter() {
  const [, given] = /^#token=(.+)$/.exec(location.hash) ?? [];
  if (given) {
    write(decodeURIComponent(given));
    history.replaceState(null, '', location.pathname + location.search);
  }
  settings.token = given ? decodeURIComponent(given) : read();
}

/** Resolves to who calls: `{auth, userId, roles}`; throws a CallError. */
export function me() {
  return call('/me', { timeout: 5000 });
}

// A browser may refuse to keep anything (private windows, blocked site data): then a reload forgets.

function read() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function write(token) {
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Full, or refused.
  }
}
