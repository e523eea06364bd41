package agentd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/agentd/results"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// lettersOf reads all letters of a data directory.
func lettersOf(t *testing.T, dir string) (all []results.Letter) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "dead-letters", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var l results.Letter
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "secret") {
			t.Errorf("%s holds the token", file)
		}
		all = append(all, l)
	}
	return all
}

// A result that is refused is kept for people, who are told, also one of what the cluster does not know, as after a
// backup was restored; one that is with its task already is not.
func TestA08RefusedResultsAreKept(t *testing.T) {
	r, p := newPuppetRig(t, true)
	next(t, r.registers)
	r.stream.orders(t, order("start", 1, 5, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	codes := []string{"denied", "unimplemented", "too_large", "invalid", "conflict", "superseded", "not_found", "late",
		"superseded: it is COMPLETED, by this very attempt", "superseded: the result is kept for inspection"}
	r.set(func() {
		r.onWork = func(w *vigilv1.CompleteTaskRequest) error {
			name, says, _ := strings.Cut(codes[w.GetTask()], ": ")
			return noSaying(name, cmp.Or(says, name))
		}
	})
	spool := spoolOf(t, one.spec)
	for task, code := range codes {
		leave(t, spool, fmt.Sprintf("%02d", task), results.Completion{Agent: "demo/r1", Incarnation: 5,
			Task: uint64(task), Attempt: 1, Result: "about " + code, Token: "secret"})
	}
	for range codes {
		r.advance(4 * time.Second)
		next(t, r.completed)
	}
	until(t, "an empty spool", func() bool {
		left, _ := os.ReadDir(spool)
		return len(left) == 0
	})
	var kept []string
	for _, l := range lettersOf(t, r.dir) {
		if l.Agent != "demo/r1" || l.Incarnation != 5 || l.Attempt != 1 || l.Result != "about "+
			codes[l.Task] || !strings.Contains(l.Refused, codes[l.Task]) || l.At.IsZero() {
			t.Errorf("letter %+v", l)
		}
		kept = append(kept, codes[l.Task])
	}
	if want := codes[:7]; !slices.Equal(kept, want) {
		t.Errorf("kept %q, want %q", kept, want)
	}
	told := func() bool {
		return slices.ContainsFunc(next(t, r.registers).GetWarnings(), func(w string) bool {
			return strings.HasPrefix(w, "results that the cluster refused: 7 are kept in "+
				filepath.Join(r.dir, "dead-letters"))
		})
	}
	for r.advance(time.Minute + time.Second); !told(); r.advance(time.Minute + time.Second) {
	}
	one.exit <- shim.Exit{}
	next(t, r.exits)
}

// An exit report that is refused for what it holds is sent without what came from the agent;
// one that is refused for anything else is sent again. No end is lost or goes uncharged.
func TestA08RefusedExitReports(t *testing.T) {
	for _, c := range []struct {
		code string
		bare bool
	}{{"invalid", true}, {"too_large", true}, {"denied", false}, {"unimplemented", false}} {
		t.Run(c.code, func(t *testing.T) {
			r, p := newPuppetRig(t, false)
			r.stream.orders(t, order("start", 1, 1, "sleep"))
			one := next(t, p.started)
			next(t, r.starts)
			refusals := 1
			r.set(func() {
				r.onExit = func(x *vigilv1.ReportExitRequest) error {
					if refusals--; refusals >= 0 {
						return no(c.code)
					}
					return nil
				}
			})
			one.exit <- shim.Exit{Code: 3, Tail: "the last words", Reason: "because", TimedOut: true,
				RetryAfter: time.Hour}
			next(t, r.exits)
			x := next(t, r.exits)
			if x.GetCode() != 3 || !x.GetTimedOut() || (x.GetTail() == "") != c.bare ||
				(x.GetReason() == "") != c.bare || (x.GetRetryAfter() == nil) != c.bare {
				t.Errorf("then it says %v", x)
			}
			until(t, "the end of the folder", func() bool {
				list, err := os.ReadDir(r.dir + "/lives")
				return err == nil && len(list) == 0
			})
		})
	}
}

// An end that cannot be reported as its agent's output has it is charged like any other.
func TestA01RefusedUsageLimitIsCharged(t *testing.T) {
	r, p := newPuppetRig(t, false)
	r.stream.orders(t, order("start", 1, 1, "sleep"))
	one := next(t, p.started)
	next(t, r.starts)
	r.set(func() {
		r.onExit = func(x *vigilv1.ReportExitRequest) error {
			if x.GetUsageLimit() {
				return no("invalid")
			}
			return nil
		}
	})
	one.exit <- shim.Exit{Code: 3, UsageLimit: true, RetryAfter: time.Hour}
	next(t, r.exits)
	if x := next(t, r.exits); x.GetCode() != 3 || x.GetUsageLimit() || x.GetOrdered() || x.GetIncarnation() != 1 {
		t.Errorf("then it says %v", x)
	}
}
