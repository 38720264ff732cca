// The chart of what happens in a sale, second by second.

const WIDTH = 720;
const HEIGHT = 220;
const LEFT = 44;
const RIGHT = 8;
const TOP = 12;
const BOTTOM = 24;

/** What the chart tells apart, in the order in which it is drawn; each is a class of the style sheet, with a dash of its own. */
export const LINES = {
  requests: (second) => second.requests + second.turnedAway,
  confirmations: (second) => second.confirmed,
  refusals: (second) => second.rejected + second.turnedAway,
};

/** The seconds up to a moment, each with its figures; zeros for those in which nothing happened. */
export function fill(seconds, until, span) {
  const last = Math.floor(until / 1000);
  const known = new Map(seconds.map((second) => [Date.parse(second.second) / 1000, second]));
  const nothing = { confirmed: 0, rejected: 0, requests: 0, turnedAway: 0 };

  return Array.from({ length: span }, (_, i) => known.get(last - span + 1 + i) ?? nothing);
}

/** Draws the seconds, oldest first, into an svg; label writes an amount of seconds ago, count a number. */
export function draw(svg, seconds, { count, label }) {
  const most = ceiling(Math.max(...seconds.flatMap((second) => Object.values(LINES).map((of) => of(second)))));
  const x = (i) => LEFT + ((WIDTH - LEFT - RIGHT) * i) / (seconds.length - 1);
  const y = (n) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * n) / most;

  const grid = [0, most / 2, most].flatMap((n) => [
    shape('line', { class: 'grid', x1: LEFT, x2: WIDTH - RIGHT, y1: y(n), y2: y(n) }),
    shape('text', { 'text-anchor': 'end', x: LEFT - 8, y: y(n) + 4 }, count(n)),
  ]);
  const last = seconds.length - 1;
  const times = [0, last / 2, last].map((i) => shape(
    'text',
    { 'text-anchor': ['start', 'middle', 'end'][Math.round((i / last) * 2)], x: x(i), y: HEIGHT - 6 },
    label(Math.round(last - i)),
  ));
  const lines = Object.entries(LINES).map(([name, of]) => shape('polyline', {
    class: name,
    points: seconds.map((second, i) => `${x(i).toFixed(1)},${y(of(second)).toFixed(1)}`).join(' '),
  }));
  svg.replaceChildren(...grid, ...times, ...lines);
}

/** The least of 2, 4, 10, 20, 40, 100, … that is not below n: half of each can be written without a fraction. */
function ceiling(n) {
  for (let power = 1; ; power *= 10) {
    for (const step of [2, 4, 10]) {
      if (step * power >= n) {
        return step * power;
      }
    }
  }
}

function shape(name, attributes, words = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) {
    element.setAttribute(attribute, value);
  }
  element.textContent = words;

  return element;
}
