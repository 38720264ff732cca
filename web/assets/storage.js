// What the browser keeps for the page. A browser may refuse to keep anything (private windows, blocked site data), and the
// page works all the same: it then remembers nothing beyond the reload.

function kept(name) {
  let store;
  try {
    store = window[name]; // The mere access throws where site data is blocked.
  } catch {
    store = null;
  }

  return {
    get(key) {
      try {
        return JSON.parse(store.getItem(key));
      } catch {
        return null;
      }
    },

    set(key, value) {
      try {
        store.setItem(key, JSON.stringify(value));
      } catch {
        // Full, or refused.
      }
    },

    remove(key) {
      try {
        store.removeItem(key);
      } catch {
        // Refused.
      }
    },
  };
}

/** Kept for this browser, in all its tabs. */
export const browser = kept('localStorage');

/** Kept for this tab until it is closed. */
export const tab = kept('sessionStorage');
