// A page's words, in the language of who reads it.

const asked = new URLSearchParams(location.search).get('lang');
const chinese = (tag) => tag.toLowerCase().startsWith('zh');

/** The page's language: the one asked for in its address (`?lang=`), else the browser's; Chinese or English. */
export const language = chinese(asked || navigator.language) ? 'zh-CN' : 'en';

/** Whether it is also what the browser asks for by itself, where a script has no say: in a stream of events. */
export const native = chinese(navigator.language) === chinese(language);

let table;

/** Sets the page's words: a table for each language. */
export function speak(words) {
  table = words[language.slice(0, 2)];
}

/** The words named key, with {names} filled in. */
export function t(key, values = {}) {
  return table[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** What to tell a buyer about a failure: the page's words for its code, else what the service says about it. */
export function failureText(code, values, detail = '') {
  const key = `failure.${code}`;

  return key in table ? t(key, values) : detail || t('failure.other');
}

/** Marks the document with its language and fills in the words that never change. */
export function translate(root) {
  root.documentElement.lang = language;
  for (const element of root.querySelectorAll('[data-text]')) {
    element.textContent = t(element.dataset.text);
  }
}

/** A link within the page that keeps the language that was asked for. */
export function link(query = {}) {
  const search = new URLSearchParams({ ...query, ...(asked && { lang: asked }) }).toString();

  return search ? `/?${search}` : '/';
}
