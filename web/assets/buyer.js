// Who buys. Where the service trusts its callers, buyers name themselves; who does not care is a guest, and the same one at
// the next visit.

const KEY = 'seckill.buyer';

/** The name given last in this browser, else that of a new guest. */
export function remembered() {
  return read() || rename('');
}

/** Takes a name and returns the one that counts: trimmed, and a new guest's where nothing is left. */
export function rename(name) {
  const buyer = name.trim() || `guest-${crypto.getRandomValues(new Uint32Array(1))[0].toString(16).padStart(8, '0')}`;
  write(buyer);

  return buyer;
}

// A browser may refuse to keep anything (private windows, blocked site data). The page works all the same: it then remembers
// nothing beyond the reload.

function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY));
  } catch {
    return null;
  }
}

function write(buyer) {
  try {
    localStorage.setItem(KEY, JSON.stringify(buyer));
  } catch {
    // Full, or refused.
  }
}
