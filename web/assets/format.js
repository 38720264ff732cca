// Amounts, spans and moments of time, as the page's language writes them.

import { language, t } from './text.js';

/** A price in minor units, in parts (Intl's), so that the whole units can stand out. */
export function priceParts(minor, currency) {
  const format = new Intl.NumberFormat(language, { style: 'currency', currency });
  const digits = format.resolvedOptions().maximumFractionDigits;

  return format.formatToParts(minor / 10 ** digits);
}

/** A count: 12,345. */
export function count(n) {
  return new Intl.NumberFormat(language).format(n);
}

/** Time left, rounded up to whole seconds, so that it reads zero only when it is over: 00:04:59, or with days before it. */
export function remaining(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const days = Math.floor(seconds / 86_400);
  const clock = [(seconds / 3600) % 24, (seconds / 60) % 60, seconds % 60].map((n) => String(Math.floor(n)).padStart(2, '0'));

  return { clock: clock.join(':'), days: days > 0 ? t('days', { n: days }) : '' };
}

/** A duration as Go writes it ("1h30m0s") in words. */
export function duration(text) {
  const units = { h: 'hour', m: 'minute', s: 'second' };
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)([hms])(?!s)/g)]
    .filter(([, n]) => Number(n) > 0)
    .map(([, n, unit]) => new Intl.NumberFormat(language, { style: 'unit', unit: units[unit], unitDisplay: 'long' }).format(n));

  return parts.join(' ') || text;
}

/** A moment: the time alone where it is on the same day as now, with the date otherwise. */
export function moment(time, now, { seconds = false } = {}) {
  const date = new Date(time);
  const sameDay = date.toDateString() === new Date(now).toDateString();

  return new Intl.DateTimeFormat(language, {
    ...(!sameDay && { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    hourCycle: 'h23',
    minute: '2-digit',
    ...(seconds && { second: '2-digit' }),
  }).format(date);
}
