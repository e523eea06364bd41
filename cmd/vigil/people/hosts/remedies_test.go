package hosts

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

func TestConfirmationIsTheNameOfTheHost(t *testing.T) {
	for answer, ok := range map[string]bool{"w1\n": true, " w1 ": true, "y\n": false, "w10\n": false, "": false} {
		var asked strings.Builder
		a := &cli.App{Terminal: term.Terminal{In: strings.NewReader(answer), Err: &asked}}
		err := a.Confirm(deadQuestion(&vigilv1.Host{Name: "w1", State: "lost", Running: 2}), "w1")
		if (err == nil) != ok {
			t.Errorf("answer %q: %v", answer, err)
		}
		if !strings.Contains(asked.String(), "2 agents may still run there") {
			t.Errorf("asked %q", asked.String())
		}
	}
}

// Every state of a host has a sentence, and every state that a human can change
// names the command.
func TestEveryStateOfAHostIsExplained(t *testing.T) {
	for _, tc := range []struct {
		host     *vigilv1.Host
		why, how string
	}{
		{&vigilv1.Host{State: "ready", Capacity: 4}, "it gets starts", ""},
		{&vigilv1.Host{State: "ready", Capacity: 4, Running: 4}, "it is full", ""},
		{&vigilv1.Host{State: "suspect", SuspectWhy: "no server hears its stream"}, "no server hears its stream",
			"nothing yet"},
		{&vigilv1.Host{Name: "w1", State: "lost", Running: 2}, "its own fence", "vigil host confirm-dead w1"},
		{&vigilv1.Host{Name: "w1", State: "lost", Unproven: 3}, "under policy confirm 3 agents",
			"vigil host confirm-dead w1"},
		{&vigilv1.Host{Name: "w1", State: "left", Unproven: 1}, "good-bye", "vigil host confirm-dead w1"},
		{&vigilv1.Host{Name: "w1", State: "lost"}, "its own fence", "vigil host forget w1"},
		{&vigilv1.Host{Name: "w1", State: "left"}, "good-bye", "vigil host forget w1"},
		{&vigilv1.Host{State: "returning", SteadyIn: durationpb.New(2 * time.Minute)}, "starts again in 2m",
			"find out why"},
		{&vigilv1.Host{Name: "w1", State: "draining", Drain: true, DrainBy: "bob", Running: 1}, "drained by bob",
			"vigil host undrain w1"},
		{&vigilv1.Host{Name: "w1", State: "draining", Drain: true}, "drained by somebody", "it is empty"},
		{&vigilv1.Host{State: "ready", Pressure: "is short of memory: 100 MiB left"}, "short of memory", "capacity"},
	} {
		if got := verdictOf(tc.host); !strings.Contains(got, tc.why) {
			t.Errorf("%v: verdict %q, want %q", tc.host, got, tc.why)
		}
		if got := remedy(tc.host); !strings.Contains(got, tc.how) || (tc.how == "") != (got == "") {
			t.Errorf("%v: remedy %q, want %q", tc.host, got, tc.how)
		}
	}
}
