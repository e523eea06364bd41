package gossip

import (
	"fmt"
	"slices"
	"testing"
)

// Hosts that are lost, however many, take no turn from members that are believed to be there;
// each kind has its turn, and who is heard is not joined.
func TestF14LostHostsKeepNobodyWaiting(t *testing.T) {
	g := &Gossip{likely: rejoins{joining: map[string]bool{}}, lost: rejoins{joining: map[string]bool{}},
		wake: make(chan struct{}, 1)}
	var lost []string
	for i := range 500 {
		lost = append(lost, fmt.Sprintf("10.0.1.%d:7422", i))
	}
	g.Know("cluster", []string{"10.0.0.1:7422", "10.0.0.2:7422", "10.0.0.3:7422"}, append(lost, "10.0.0.1:7422"))
	up := map[string]bool{"10.0.0.3:7422": true}
	if got := g.lost.next(rejoinLost, up); len(got) != rejoinLost || slices.Contains(got, "10.0.0.1:7422") {
		t.Fatalf("of lost hosts %v are joined, want %d of them", got, rejoinLost)
	}
	got := g.likely.next(rejoinMost, up)
	if slices.Sort(got); !slices.Equal(got, []string{"10.0.0.1:7422", "10.0.0.2:7422"}) {
		t.Fatalf("%v are joined while lost hosts do not answer, want the two that are not heard", got)
	}
	seen := map[string]bool{}
	for range 2*len(lost)/rejoinLost + 1 { // all others of the lost have their turn too
		for addr := range g.lost.joining {
			seen[addr] = true
		}
		clear(g.lost.joining)
		g.lost.next(rejoinLost, up)
	}
	if len(seen) != len(lost) {
		t.Errorf("%d of %d lost hosts had a turn", len(seen), len(lost))
	}
}
