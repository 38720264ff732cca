package http

import (
	"golang.org/x/text/language"

	"seckill/domain"
	"seckill/projections"
)

// tongue is a language in which the service speaks to buyers.
type tongue int

const (
	chinese tongue = iota
	english
)

var matcher = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// tongueOf chooses by an Accept-Language header; English where it says nothing we speak.
func tongueOf(acceptLanguage string) tongue {
	if acceptLanguage == "" {
		return english
	}
	if _, index := language.MatchStrings(matcher, acceptLanguage); index == 1 {
		return chinese
	}
	return english
}

var statusMessages = map[projections.Status][2]string{
	projections.StatusProcessing: {"正在抢购中，请稍候", "Your purchase is being decided."},
	projections.StatusSucceeded:  {"抢购成功，请尽快付款", "You got it. Please pay in time."},
}

var reasonMessages = map[domain.Reason][2]string{
	domain.ReasonInternal:      {"系统出错，未能下单，请重新抢购", "Something went wrong and nothing was ordered. Please try again."},
	domain.ReasonLimitExceeded: {"您已抢购过该商品，超出限购数量", "You already have as many as one buyer may have."},
	domain.ReasonSaleClosed:    {"活动已结束", "The sale is over."},
	domain.ReasonSaleNotOpen:   {"活动尚未开始", "The sale has not opened yet."},
	domain.ReasonSalePaused:    {"活动已暂停，恢复后可再抢购", "The sale is paused. Try again when it goes on."},
	domain.ReasonSoldOut:       {"手慢了，商品已抢完", "Too late: everything is sold."},
}

// message says to the buyer what became of the purchase.
func (t tongue) message(p projections.Purchase) string {
	if p.Status == projections.StatusFailed {
		return reasonMessages[p.Reason][t]
	}
	return statusMessages[p.Status][t]
}
