package check

import (
	"cmp"
	"slices"

	"vigil/jepsen/history"
)

// span is a time, both ends included.
type span struct{ from, to int64 }

func (s span) meets(from, to int64) bool { return s.from <= to && s.to >= from }

func (s span) length() int64 { return s.to - s.from }

// union sorts spans and joins those that touch.
func union(list []span) []span {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// within cuts a union to a window.
func within(list []span, w span) (out []span) {
	for _, s := range list {
		if s.meets(w.from, w.to) {
			out = append(out, span{max(s.from, w.from), min(s.to, w.to)})
		}
	}
	return out
}

// longest gives the longest span; zero when there is none.
func longest(list []span) (best span) {
	for _, s := range list {
		if s.length() > best.length() {
			best = s
		}
	}
	return best
}

// harms tells whether an effect can keep a machine from working. A wall clock that
// was changed never can (law L10), and neither can a planned change of leaders.
func harms(e history.Effect) bool {
	return e.What != history.Clock && e.What != history.Leading && e.What != history.Told
}

// stretch is a time in which the same servers were untouched.
type stretch struct {
	span
	whole int // servers that nothing harmed
}

// stretches cuts a window where a server begins or ends to be touched. It looks at
// the effects that touch tells.
func (t *trial) stretches(w span, touch func(history.Effect) bool) []stretch {
	cuts := []int64{w.from, w.to}
	byServer := make([][]span, len(t.rec.Run.Servers))
	for i, name := range t.rec.Run.Servers {
		for _, e := range t.effects[name] {
			if touch(e) && e.Agent == "" {
				byServer[i] = append(byServer[i], span{e.From, e.To})
			}
		}
		byServer[i] = within(union(byServer[i]), w)
		for _, s := range byServer[i] {
			cuts = append(cuts, s.from, s.to)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out []stretch
	for i := 1; i < len(cuts); i++ {
		s := stretch{span: span{cuts[i-1], cuts[i]}}
		for _, touched := range byServer {
			if !slices.ContainsFunc(touched, func(x span) bool { return x.from <= s.from && x.to >= s.to }) {
				s.whole++
			}
		}
		out = append(out, s)
	}
	return out
}

// headless are the times in a window in which no majority of servers was whole.
func (t *trial) headless(w span) []span {
	return t.fewer(w, len(t.rec.Run.Servers)/2+1)
}

// fewer are the times in a window in which fewer servers were whole than so many.
func (t *trial) fewer(w span, than int) []span {
	var out []span
	for _, s := range t.stretches(w, harms) {
		if s.whole < than {
			out = append(out, s.span)
		}
	}
	return union(out)
}

// touched finds an effect that harmed a machine, or the agent on it, in a time.
func (t *trial) touched(machine, agent string, from, to int64) *history.Effect {
	list := t.effects[machine]
	for i := range list {
		e := &list[i]
		if harms(*e) && (e.Agent == "" || e.Agent == agent) && e.From <= to && e.To >= from {
			return e
		}
	}
	return nil
}
