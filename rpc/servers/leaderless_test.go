package servers

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/rpc/gen/vigilv1"
)

// N12: without a leader it is said for which servers the answering one waits, and since when.
func TestN12WithoutALeaderItIsSaidWhoIsAwaited(t *testing.T) {
	a := &vigilv1.Server{Id: "a", Voter: true, ApiAddr: "10.0.0.1:7420"}
	b := &vigilv1.Server{Id: "b", Voter: true, ApiAddr: "10.0.0.2:7420", Silent: durationpb.New(3 * time.Minute)}
	c := &vigilv1.Server{Id: "c", Voter: true, RaftAddr: "10.0.0.3:7421", Silent: durationpb.New(1500 * time.Millisecond)}
	learner := &vigilv1.Server{Id: "d", Silent: durationpb.New(time.Hour)}
	for _, x := range []struct {
		servers []*vigilv1.Server
		want    string
	}{
		{[]*vigilv1.Server{a, b, c, learner}, "2 of the 3 servers with a vote must be up, and 1 is heard here: " +
			"waits for b (10.0.0.2:7420), not heard for 3m0s, and c (10.0.0.3:7421), not heard for 2s"},
		{[]*vigilv1.Server{a, {Id: "b", Voter: true}, c}, "an election goes on"},
		{nil, "belongs to no cluster"},
	} {
		if got := leaderlessText(x.servers); !strings.Contains(got, x.want) {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
