#!/bin/sh
# Walks through the whole life of a sale and of its orders with curl alone. Needs a
# running service, such as that of `make run`; changes nothing but a sale of its own.
set -eu

base=${SECKILL_URL:-http://127.0.0.1:8080}
answer=$(mktemp)
trap 'rm -f "$answer"' EXIT

say() { printf '\n# %s\n' "$*"; }

# get PATH and post PATH [JSON] show a call and its answer, and keep the answer.
get() { call "$1"; }
post() { call "$1" -X POST -H 'Content-Type: application/json' -d "${2:-{\}}"; }
call() {
	path=$1
	shift
	printf '$ curl -s'
	for word in "$@" "$base$path"; do
		case $word in
		*[!A-Za-z0-9/:.=_-]*) printf " '%s'" "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	curl -sS "$@" -o "$answer" "$base$path"
	cat "$answer"
	printf '\n'
}

# field NAME prints a field of the last answer.
field() { grep -o "\"$1\":[^,}]*" "$answer" | head -n 1 | cut -d: -f2- | tr -d '"'; }

# buy USER buys one unit and waits for the result.
buy() {
	post "/sales/$sale/purchases" "{\"userId\":\"$1\",\"quantity\":1}"
	get "/purchases/$(field requestId)?wait=30s"
}

say 'The operator schedules a sale of three units that is open for an hour.'
in_an_hour=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+1H +%Y-%m-%dT%H:%M:%SZ)
post /sales "{\"name\":\"Aurora X1\",\"price\":199900,\"stock\":3,\"closesAt\":\"$in_an_hour\",\"paymentTimeout\":\"15m\"}"
sale=$(field saleId)

say 'Ann buys, and is told the result the moment it is decided.'
buy ann
ann_request=$(field requestId)
ann_order=$(field orderId)

say 'A second purchase of hers fails, and names what she has.'
buy ann

say 'The payment side says that she has paid. Saying it again changes nothing.'
post "/orders/$ann_order/pay" '{"paymentReference":"bank-4711","amount":199900}'
post "/orders/$ann_order/pay" '{"paymentReference":"bank-4711","amount":199900}'

say 'Another payment is refused.'
post "/orders/$ann_order/pay" '{"paymentReference":"bank-4712"}'

say 'Ben buys and changes his mind: his unit is sold again, and he may buy again.'
buy ben
ben_order=$(field orderId)
post "/orders/$ben_order/cancel" '{"userId":"ben"}'
get "/sales/$sale"
buy ben

say 'The operator pauses the sale. Within a second purchases are refused at the door.'
post "/sales/$sale/pause"
sleep 1
post "/sales/$sale/purchases" '{"userId":"cai"}'

say 'It goes on. Two units more; more than are unsold cannot be taken away.'
post "/sales/$sale/resume"
post "/sales/$sale/stock" '{"delta":2}'
post "/sales/$sale/stock" '{"delta":-9}'
sleep 1
buy cai

say 'Ann gives her unit back and is refunded.'
post "/orders/$ann_order/refund" '{"paymentReference":"refund-1","restock":true}'

say 'What Ann has, and what happened to her request, in words.'
get "/orders?userId=ann"
get "/purchases/$ann_request/history"

say 'The operator closes the sale.'
post "/sales/$sale/close"
sleep 1
post "/sales/$sale/purchases" '{"userId":"dan"}'
get "/sales/$sale"
