// What the operator has typed, as the service takes it.

import { digits, minorUnits } from './money.js';

const MINUTE = 60_000;

/** Fields that hold what cannot be sent. */
export class FieldsError extends Error {
  constructor(fields) {
    super(fields.map(({ name }) => name).join());
    this.fields = fields;
  }
}

/** The sale that the fields of the form describe; throws a FieldsError that has all that are wrong. */
export function plan({ closesAt, currency, goodsId, name, opensAt, paymentTimeout, perUserLimit, price, stock }) {
  const code = currency.value.trim().toUpperCase();
  const known = digits(code) !== null;

  return {
    name: name.value.trim(),
    ...read(
      [goodsId, (text) => (text === '' ? undefined : whole(text))],
      [stock, whole],
      [price, (text) => (known ? minorUnits(text, code) : undefined)], // In which currency? One complaint is enough.
      [currency, () => (known ? code : null)],
      [opensAt, time],
      [closesAt, time],
      [perUserLimit, whole],
      [paymentTimeout, minutes],
    ),
  };
}

/** By how many units to change the stock; throws a FieldsError. */
export function change(field, sign) {
  const { delta } = read([field, whole]);

  return { delta: sign * delta };
}

/** The times of the fields that were changed: the others hold no fractions of a second. Throws a FieldsError. */
export function moved(...fields) {
  return read(...fields.filter(touched).map((field) => [field, time]));
}

/** Whether a field for a time says another one than it was given. It writes the same one shorter where the seconds are 00. */
export function touched({ dataset, value }) {
  return Date.parse(value) !== Date.parse(dataset.was);
}

/** A moment as a field for local times writes it. */
export function local(moment) {
  const offset = new Date(moment).getTimezoneOffset() * MINUTE;

  return new Date(moment - offset).toISOString().slice(0, 19);
}

/** The values of fields, by their names. What reads one answers null where it makes no sense. */
function read(...pairs) {
  const values = pairs.map(([field, as]) => [field.name, as(field.value.trim())]);
  const wrong = pairs.map(([field]) => field).filter((_, i) => values[i][1] === null);
  if (wrong.length > 0) {
    throw new FieldsError(wrong);
  }

  return Object.fromEntries(values);
}

function whole(text) {
  return /^\d{1,15}$/.test(text) && Number(text) > 0 ? Number(text) : null;
}

function minutes(text) {
  const n = whole(text);

  return n && `${n}m`;
}

function time(text) {
  const moment = Date.parse(text); // A time without a zone is the browser's.

  return Number.isNaN(moment) ? null : new Date(moment).toISOString();
}
