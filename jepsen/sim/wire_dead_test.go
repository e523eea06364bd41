package sim

import (
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
)

// A run that is over answers nobody, whatever it had been asked: what it says it has stored is on no disk. The run
// that takes its place does not lend it its way back.
func TestARunThatIsOverAnswersNobody(t *testing.T) {
	for _, over := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWire(2, rand.New(rand.NewPCG(1, 1)))
			from, asked := w.listen(0), w.listen(1)
			got := make(chan error, 1)
			go func() {
				got <- from.AppendEntries("s2", address(1), &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1},
					&raft.AppendEntriesResponse{})
			}()
			rpc := <-asked.Consumer()
			if over {
				if err := asked.Close(); err != nil {
					t.Fatal(err)
				}
				w.listen(1)
			}
			rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
			if err := <-got; errors.Is(err, errUnreachable) != over {
				t.Errorf("over: %t; the answer gives %v", over, err)
			}
		})
	}
}
