// Who buys. Where the service trusts its callers, buyers name themselves; who does not care is a guest, and the same one at
// the next visit.

import { browser } from './storage.js';

const KEY = 'seckill.buyer';

/** The name given last in this browser, else that of a new guest. */
export function remembered() {
  return browser.get(KEY) || rename('');
}

/** Takes a name and returns the one that counts: trimmed, and a new guest's where nothing is left. */
export function rename(name) {
  const buyer = name.trim() || `guest-${randomHex(4)}`;
  browser.set(KEY, buyer);

  return buyer;
}

/** Random bytes in hexadecimal. Unlike crypto.randomUUID, it works on pages that came over plain HTTP from another machine. */
export function randomHex(bytes) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
