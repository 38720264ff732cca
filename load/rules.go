package load

import (
	"fmt"
	"slices"
)

// RuleName says in words what must hold.
type RuleName string

// The rules that a run is checked against.
const (
	RuleLimit       RuleName = "nobody was given more than the limit"
	RuleNoUndersell RuleName = "nobody was told sold_out while units were free"
	RuleOneRequest  RuleName = "one Idempotency-Key made one request"
	RuleOneResult   RuleName = "every accepted request was told one result"
	RuleOrderOnce   RuleName = "every order ID was given once"
	RuleOwnResult   RuleName = "every result belongs to the request it was told to"
	RuleSameAgain   RuleName = "a result read again is the result that was told"
	RuleStock       RuleName = "the units that were told are the units that are gone"
)

// ruleNames are the rules in the order in which they are reported.
var ruleNames = []RuleName{
	RuleOneResult, RuleOwnResult, RuleSameAgain, RuleOneRequest,
	RuleOrderOnce, RuleLimit, RuleStock, RuleNoUndersell,
}

// maxExamples bounds how many breaches of one rule are told in words.
const maxExamples = 5

// Rule is what became of one rule.
type Rule struct {
	Name RuleName `json:"rule"`
	// Broken is how often it was found broken.
	Broken int `json:"broken"`
	// Examples say where, for the first few.
	Examples []string `json:"examples,omitempty"`
	// Skipped says why the rule could not be checked, or not for every sale.
	Skipped string `json:"skipped,omitempty"`
}

type breach struct {
	count    int
	examples []string
}

// breach notes that a rule was found broken. The caller holds the lock.
func (l *ledger) breach(rule RuleName, format string, args ...any) {
	b, ok := l.breaches[rule]
	if !ok {
		b = &breach{}
		l.breaches[rule] = b
	}
	b.count++
	if len(b.examples) < maxExamples {
		b.examples = append(b.examples, fmt.Sprintf(format, args...))
	}
}

// broken reports whether any rule is.
func broken(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(r Rule) bool { return r.Broken > 0 })
}
