// A client as the /seckill contract describes it. Who buys what is in the page's address: ?userId=42&goodsId=1001

const query = new URLSearchParams(location.search);
const userId = Number(query.get('userId'));
const goodsId = Number(query.get('goodsId'));

document.querySelector('button').addEventListener('click', async () => {
  show('processing', '抢购中');
  const response = await fetch('/seckill/submit', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ userId, goodsId }),
  });
  if (!response.ok) {
    show('again', '请重试');
    return;
  }
  const { data: requestId } = await response.json();
  document.body.dataset.requestId = requestId;

  const timer = setInterval(async () => {
    const { data } = await (await fetch('/seckill/result/' + requestId)).json();
    if (data.status !== 'processing') {
      clearInterval(timer);
      show(data.status, data.success ? data.orderId : data.msg);
    }
  }, 1500);
});

function show(state, words) {
  document.querySelector('p').textContent = words;
  document.body.dataset.state = state;
}
