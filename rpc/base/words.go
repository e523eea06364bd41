package base

import (
	"context"
	"slices"

	"vigil/fsm"
	"vigil/rpc/door"
)

// What an agent says proves that it lives only when it has just said it. A call that may
// have been made before carries code.HeaderRepeat, whoever repeats it; one that has waited at its
// caller says in code.HeaderSaid for how long. Who leaves both out renews no lease but its own.

// Prove notes in each request what it proves as a word of an agent.
func (c *Core) Prove(ctx context.Context, reqs []fsm.Request) {
	age, fresh := door.SaidAgo(ctx)
	if !fresh {
		return
	}
	if !slices.ContainsFunc(reqs, isWord) {
		return // most writes are none: they take no lock here
	}
	c.Reader.Read(func(st *fsm.View) {
		for i := range reqs {
			if isWord(reqs[i]) {
				reqs[i].Word = st.WordOf(reqs[i].Cmd, age)
			}
		}
	})
}

func isWord(r fsm.Request) bool { return fsm.IsWord(r.Cmd) }
