package fsm

import (
	"reflect"
	"strings"
	"testing"
)

// The core names no feature: without each of them, and without all, its laws hold. The log is that
// of a state with all, less the commands of those that are left out.
func TestCoreHoldsWithoutItsFeatures(t *testing.T) {
	out := []string{"all"}
	for _, f := range features {
		out = append(out, f.name)
	}
	for _, name := range out {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range seeds(t, 3) {
				c, guide, s := newChaos(seed, true), New(), without(name)
				left := 0
				step := func(e *Entry) {
					guide.Apply(e)
					less := *e
					less.Requests = nil
					for _, r := range e.Requests {
						if pkg := reflect.TypeOf(r.Cmd).PkgPath(); strings.HasSuffix(pkg, "/"+name) ||
							name == "all" && (strings.Contains(pkg, "/watch/") || strings.HasSuffix(pkg, "/trust")) {
							left++
							continue
						}
						less.Requests = append(less.Requests, r)
					}
					s.Apply(&less)
					if e.Index%20 != 0 {
						return
					}
					if err := s.Check(); err != nil {
						t.Fatalf("seed %d, entry %d: %v", seed, e.Index, err)
					}
				}
				for _, e := range c.opening() {
					step(e)
				}
				for range 2000 {
					step(c.next(guide))
				}
				t.Logf("seed %d: %d commands left out, %d tasks recovered", seed, left, s.Figures().Recovered)
				if s.Figures().Recovered == 0 || s.Figures().Renewals == 0 {
					t.Errorf("seed %d exercises nothing: %+v", seed, s.Figures())
				}
			}
		})
	}
}
