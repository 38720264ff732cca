// Amounts of money: people write major units, the service counts minor ones.

/** How many digits a currency has behind the point; null where it is none. */
export function digits(currency) {
  try {
    return new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits;
  } catch {
    return null;
  }
}

/**
 * An amount as people write it ("19.99") in minor units (1999): digit by digit, as a floating point number would not hit every
 * cent. null for what is not an amount of the currency: more digits than it has, or more than can be counted.
 */
export function minorUnits(text, currency) {
  const places = digits(currency);
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(text.trim()) ?? [];
  if (places === null || whole === undefined || fraction.length > places) {
    return null;
  }
  const minor = Number(whole + fraction.padEnd(places, '0'));

  return Number.isSafeInteger(minor) ? minor : null;
}
