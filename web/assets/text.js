// The page's words in Chinese and English.

const words = {
  zh: {
    brand: '秒杀',
    buyer: '买家',
    title: '{name} · 秒杀',

    'state.scheduled': '即将开抢',
    'state.open': '抢购中',
    'state.sold_out': '已抢完',
    'state.paused': '已暂停',
    'state.closed': '已结束',
    'countdown.opens': '距开抢',
    'countdown.closes': '距结束',
    days: '{n} 天',

    stock: '剩余库存',
    stockBefore: '剩余 ',
    stockAfter: ' 件 / 共 {stock} 件',
    limit: '每人限购',
    units: '{n} 件',
    paymentTimeout: '付款时限',
    opensAt: '开抢时间',
    closesAt: '结束时间',

    'buy.scheduled': '即将开抢',
    'buy.open': '立即抢购',
    'buy.again': '再抢一次',
    'buy.more': '再抢一件',
    'buy.bought': '已抢到',
    'buy.processing': '正在抢购中…',
    'buy.sold_out': '已抢完',
    'buy.paused': '暂停抢购',
    'buy.closed': '抢购已结束',
    'buy.wait': '{n} 秒后可再试',
    'hint.scheduled': '到点按钮会自动亮起，无需刷新页面。',
    'hint.open': '点一次就好：遇到网络波动会自动重试，不会重复下单。',
    'hint.sold_out': '若有订单超时未付款，库存会放回，按钮会自动亮起。',
    'hint.paused': '恢复后按钮会自动亮起，无需刷新页面。',
    'hint.closed': '感谢关注，下次早点来。',

    'outcome.sending': '正在抢购中…',
    'outcome.sendingDetail': '正在提交您的请求。',
    'outcome.retryingDetail': '人太多了，正在自动重试，请不要离开。',
    'outcome.followingDetail': '已受理，等待结果；刷新页面不会丢失。',
    'outcome.won': '抢到了！',
    'outcome.wonDetail': '请按时付款，逾期订单自动取消。',
    'outcome.lost': '没有抢到',
    'outcome.refused': '没有提交成功',
    'outcome.unsure': '暂时没有结果',
    order: '订单号',
    payBy: '付款截止',
    existingOrder: '您已有订单',
    request: '请求编号',

    'failure.sold_out': '手慢了，商品已抢完。',
    'failure.limit_exceeded': '您已经抢到过了，每人限购 {limit} 件。',
    'failure.sale_not_open': '抢购还没有开始，请稍等片刻。',
    'failure.sale_paused': '抢购已暂停，恢复后可以再试。',
    'failure.sale_closed': '本场抢购已经结束。',
    'failure.internal': '系统出错，这次没有下单，请再试一次。',
    'failure.network': '连接不上服务器。再点一次会接着提交同一个请求，不会重复下单。',
    'failure.overloaded': '抢购的人太多了，请稍后再试。',
    'failure.unavailable': '服务暂时不可用，请稍后再试。再点一次不会重复下单。',
    'failure.rate_limited': '点得太快了，请稍后再试。',
    'failure.invalid_request': '请求有误，请检查买家名称。',
    'failure.user_required': '请先填写买家名称。',
    'failure.quantity_over_limit': '超过了每人限购数量。',
    'failure.sale_not_found': '这场抢购不存在。',
    'failure.request_not_found': '查不到这次请求，请再试一次。',
    'failure.unauthorized': '请先登录。',
    'failure.forbidden': '没有权限进行这次购买。',
    'failure.other': '出了点问题，请稍后再试。',

    'empty.title': '暂时没有抢购',
    'empty.detail': '新的场次上线后会自动出现在这里。',
    'missing.title': '没有这场抢购',
    'missing.detail': '链接可能已失效，请看看其他场次。',
    'notice.reconnecting': '连接不稳定，正在重新连接…',
    others: '其他场次',
  },

  en: {
    brand: 'Seckill',
    buyer: 'Buyer',
    title: '{name} · Seckill',

    'state.scheduled': 'Soon',
    'state.open': 'On sale now',
    'state.sold_out': 'Sold out',
    'state.paused': 'Paused',
    'state.closed': 'Ended',
    'countdown.opens': 'Opens in',
    'countdown.closes': 'Ends in',
    days: '{n} d',

    stock: 'Units left',
    stockBefore: '',
    stockAfter: ' of {stock} left',
    limit: 'Limit',
    units: '{n} per buyer',
    paymentTimeout: 'Pay within',
    opensAt: 'Opens',
    closesAt: 'Ends',

    'buy.scheduled': 'Opening soon',
    'buy.open': 'Buy now',
    'buy.again': 'Try again',
    'buy.more': 'Buy another',
    'buy.bought': 'Bought',
    'buy.processing': 'Getting yours…',
    'buy.sold_out': 'Sold out',
    'buy.paused': 'Paused',
    'buy.closed': 'Sale ended',
    'buy.wait': 'Try again in {n} s',
    'hint.scheduled': 'The button lights up on time. No need to reload.',
    'hint.open': 'One press is enough. It is retried for you, and never buys twice.',
    'hint.sold_out': 'If an order is not paid in time, its units come back and the button lights up.',
    'hint.paused': 'The button lights up when the sale goes on. No need to reload.',
    'hint.closed': 'Thank you for coming by. Better luck next time.',

    'outcome.sending': 'Getting yours…',
    'outcome.sendingDetail': 'Sending your request.',
    'outcome.retryingDetail': 'It is crowded. Trying again for you, please stay.',
    'outcome.followingDetail': 'Your request is in, the result is on its way. A reload does not lose it.',
    'outcome.won': 'It’s yours!',
    'outcome.wonDetail': 'Please pay in time, or the order is cancelled.',
    'outcome.lost': 'Not this time',
    'outcome.refused': 'The request was not taken',
    'outcome.unsure': 'No result yet',
    order: 'Order',
    payBy: 'Pay by',
    existingOrder: 'Your order',
    request: 'Request',

    'failure.sold_out': 'Too late: everything has been sold.',
    'failure.limit_exceeded': 'You already have yours: the limit is {limit} per buyer.',
    'failure.sale_not_open': 'The sale has not opened yet. One moment, please.',
    'failure.sale_paused': 'The sale is paused. Try again when it goes on.',
    'failure.sale_closed': 'This sale has ended.',
    'failure.internal': 'Something broke on our side. Nothing was ordered, please try again.',
    'failure.network': 'The service cannot be reached. Pressing again repeats the same request and does not buy twice.',
    'failure.overloaded': 'Too many buyers at once. Please try again in a moment.',
    'failure.unavailable': 'The service is not available. Pressing again later does not buy twice.',
    'failure.rate_limited': 'That was too fast. Please try again in a moment.',
    'failure.invalid_request': 'The request is not valid. Please check the buyer’s name.',
    'failure.user_required': 'Please fill in the buyer’s name.',
    'failure.quantity_over_limit': 'That is more than one buyer may have.',
    'failure.sale_not_found': 'There is no such sale.',
    'failure.request_not_found': 'The request is not known any more. Please try again.',
    'failure.unauthorized': 'Please sign in first.',
    'failure.forbidden': 'You may not make this purchase.',
    'failure.other': 'Something went wrong. Please try again in a moment.',

    'empty.title': 'No sale right now',
    'empty.detail': 'The next one will show up here by itself.',
    'missing.title': 'There is no such sale',
    'missing.detail': 'The link may be out of date. Have a look at the others.',
    'notice.reconnecting': 'The connection is shaky. Reconnecting…',
    others: 'More sales',
  },
};

const asked = new URLSearchParams(location.search).get('lang');
const chinese = (tag) => tag.toLowerCase().startsWith('zh');

/** The page's language: the one asked for in its address (`?lang=`), else the browser's; Chinese or English. */
export const language = chinese(asked || navigator.language) ? 'zh-CN' : 'en';

/** Whether it is also what the browser asks for by itself, where a script has no say: in a stream of events. */
export const native = chinese(navigator.language) === chinese(language);

const table = words[language.slice(0, 2)];

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
