package hosts

import (
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
)

// A1: what has happened on a host is taken whatever an agent has made of the words in which it is told: a
// refusal would lose the end of a life, which would then be charged to nobody (law L11).
func TestA01FactsAreNotRefusedForTheirWords(t *testing.T) {
	hostile := []string{"two\nlines", "\x1b[31mred\x1b[0m \u009b2J", "not \xff\xfe text", "nul \x00",
		strings.Repeat("x", 1<<20), strings.Repeat("é", 50_000)}
	for _, words := range hostile {
		for _, wait := range []*durationpb.Duration{nil, {Seconds: -5}, {Seconds: math.MaxInt64},
			{Seconds: 400 * 24 * 3600}, {Seconds: 1, Nanos: -1}} {
			cmd, err := reportExitCmd(&vigilv1.ReportExitRequest{Host: 1, Agent: 1, Incarnation: 1,
				UsageLimit: true, RetryAfter: wait, Signal: words, Reason: words, Tail: words})
			if err != nil {
				t.Fatalf("%.20q, retry after %v: %v", words, wait, err)
			}
			x := cmd.(fsm.ReportExit)
			if x.RetryAfter < 0 || x.RetryAfter > 24*time.Hour || len(x.Tail) > noun.MaxTail ||
				len(x.Reason) > noun.MaxReason || len(x.Signal) > form.MaxWho {
				t.Errorf("%.20q, retry after %v became %s and %d, %d, %d bytes", words, wait, x.RetryAfter,
					len(x.Signal), len(x.Reason), len(x.Tail))
			}
			for _, text := range []string{x.Signal, x.Reason, x.Tail} {
				if strings.ToValidUTF8(text, "") != text {
					t.Errorf("%.20q became %.20q", words, text)
				}
			}
			if strings.ContainsAny(x.Signal, "\n\x1b\x00\u009b") {
				t.Errorf("%.20q became signal %.20q", words, x.Signal)
			}
		}
		for what, err := range map[string]error{
			"stuck": second(reportStuckCmd(&vigilv1.ReportStuckRequest{Host: 1, Agent: 1, Incarnation: 1,
				Reason: words})),
			"pressure": second(reportPressureCmd(&vigilv1.ReportPressureRequest{Host: 1, Boot: "b", Reason: words})),
			"terminals": second(reportTerminalsCmd(&vigilv1.ReportTerminalsRequest{Host: 1, Boot: "b",
				Tool: words, Why: words})),
			"warnings": second(registerHostCmd(&vigilv1.RegisterRequest{Key: "k", Boot: "b",
				Warnings: []string{words, words}})),
		} {
			if err != nil {
				t.Errorf("%s with %.20q: %v", what, words, err)
			}
		}
	}
}

func second(_ fsm.Command, err error) error { return err }
