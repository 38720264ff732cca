// Time. The server's clock, as well as it can be known from here: the home computer's own clock plays no part, what runs
// between two answers is the browser's monotonic one.

export class ServerClock {
  // The offset from performance.now() to the server's time lies somewhere between these.
  #least = -Infinity;
  #most = Infinity;

  /** The server's time in milliseconds since 1970; NaN before the first observation. */
  now() {
    return performance.now() + (this.#least + this.#most) / 2;
  }

  /**
   * Learns from an answer that says the server's time, and from when (by performance.now()) it was asked for and received.
   *
   * The server read its clock at some moment between the two, which bounds the offset; each answer can only narrow the bounds,
   * and the quickest ones narrow them most. Bounds that exclude each other mean that a clock has moved: the computer slept, or
   * drifted for hours. Then the newest is believed.
   *
   * The middle of the bounds is never earlier than the truth by more than the way to the server takes, so what is sent when
   * this clock says that a sale opens arrives when it is open.
   */
  observe(serverTime, asked, received) {
    const server = Date.parse(serverTime);
    if (Number.isNaN(server)) {
      return;
    }

    const least = server - received;
    const most = server - asked + 1; // The text may have lost a fraction of a millisecond.
    if (least > this.#most || most < this.#least) {
      this.#least = least;
      this.#most = most;
    } else {
      this.#least = Math.max(this.#least, least);
      this.#most = Math.min(this.#most, most);
    }
  }
}

/** Resolves after so many milliseconds. */
export function sleep(ms) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
