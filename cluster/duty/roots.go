package duty

import (
	"context"
	"time"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// rootsLook is how often the replacement of a root is looked at: its steps take hours.
const rootsLook = 10 * time.Second

// rootsRow is the duty that goes on with the replacement of a root.
func (d *Duty) rootsRow() *row {
	return &row{
		name: "roots", says: "has the new root issue, and drops the old one when nobody needs it", orders: []string{"turn"},
		every: func(*noun.Settings) pace { return pace{first: rootsLook, every: rootsLook} },
		ready: func(context.Context) (there bool, err error) {
			d.cfg.Replica.Read(func(s *fsm.View) { roots, _ := s.Roots(); there = len(roots) > 1 })
			return there, nil
		},
		plan: planRoots,
	}
}

func planRoots(s *fsm.View, _ look) (p plan) {
	w := s.RootWait()
	p.visited = 1
	if w.Over() {
		p.orders = []Order{{Command: fsm.StepRoots{Rev: w.Rev}}}
	}
	return p
}
