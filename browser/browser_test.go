package browser_test

import "testing"

// shop is a service, and the browsers of its buyers.
type shop struct {
	*service

	chinese, english *chromium
}

func TestBrowser(t *testing.T) {
	needChromium(t)
	s := &shop{service: startService(t), chinese: startChromium(t, "zh-CN"), english: startChromium(t, "en-US")}

	t.Run("Buy", s.testBuy)
	t.Run("Contract", s.testContract)
	t.Run("Follow", s.testFollow)
	t.Run("Module", s.testModule)
	t.Run("Operator", s.testOperator)
	t.Run("Pages", s.testPages)
	t.Run("Press", s.testPress)
}
