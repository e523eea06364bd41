package rpc

import "vigil/fsm"

// matchers are all that a server appends to the entries that it seals while it leads, as one fsm.Matcher.
type matchers []fsm.Matcher

// See implements fsm.Matcher.
func (m matchers) See(cmd fsm.Command) {
	for _, one := range m {
		one.See(cmd)
	}
}

// Extras implements fsm.Matcher.
func (m matchers) Extras() (all []fsm.Extra) {
	for _, one := range m {
		all = append(all, one.Extras()...)
	}
	return all
}
