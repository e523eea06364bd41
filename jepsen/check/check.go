package check

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

// Verdicts of a check.
const (
	Kept      = "kept"
	Broken    = "broken"
	Nothing   = "nothing to judge" // the record holds nothing that the check is about
	Undecided = "undecided"        // the search ended by its time limit
)

// Result is what one check found.
type Result struct {
	Name    string `json:"name"`
	Law     string `json:"law"`  // as in ARCHITECTURE.md; empty: a promise of the interface
	Says    string `json:"says"` // what was checked, in one sentence
	Verdict string `json:"verdict"`
	// Judged is how many things were judged, whatever came out.
	Judged    int        `json:"judged"`
	Findings  []Finding  `json:"findings,omitempty"`
	Excused   []Excused  `json:"excused,omitempty"`
	Stats     []Stat     `json:"stats,omitempty"`
	Timelines []Timeline `json:"-"`
}

// Finding is one broken law with its evidence. The times are CLOCK_BOOTTIME in
// nanoseconds and say when it was broken, as far as that is known.
type Finding struct {
	What   string          `json:"what"` // a sentence for people
	From   int64           `json:"from"`
	To     int64           `json:"to"`
	Ops    []history.Op    `json:"ops,omitempty"`
	Events []history.Event `json:"events,omitempty"`
	Lives  []string        `json:"lives,omitempty"` // files of the ledger
	// Timeline is the name of the timeline that shows it; empty: none does.
	Timeline string `json:"timeline,omitempty"`
}

// Excused counts what looked broken and was not held against the product.
type Excused struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
}

// Stat is one number of a check.
type Stat struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"` // s, or empty for a count
}

// Timeline is a page that shows a part of the history.
type Timeline struct {
	Name  string // unique in the run, fit for the name of a file
	Write func(io.Writer) error
}

// Bounds are the times that checks allow. All are positive.
type Bounds struct {
	// Stall: with a majority of servers untouched, some write is acknowledged at least
	// this often.
	Stall time.Duration
	// Agents: after the last fault every agent that should run does so within this.
	Agents time.Duration
	// Lease: a life that does not run has no lease after TTL and this.
	Lease time.Duration
	// Stop: after an acknowledged stop the agent has ended within this.
	Stop time.Duration
	// Slack is how long a life may run on after its shim was stopped and went on.
	Slack time.Duration
	// Lag: what one watcher has seen, every watcher has seen within this.
	Lag time.Duration
	// Search bounds the search for linearizations, for each of the checks that search.
	Search time.Duration
}

// DefaultBounds follow from the TTL of leases and fences. They leave room for a
// machine on which servers, hosts and agents share few processors.
func DefaultBounds(ttl time.Duration) Bounds {
	return Bounds{
		Stall:  10*time.Second + 2*ttl,
		Agents: 30*time.Second + 4*ttl,
		Lease:  5*time.Second + ttl,
		Stop:   15*time.Second + 2*ttl,
		Slack:  2 * time.Second,
		Lag:    20*time.Second + ttl,
		Search: time.Minute,
	}
}

// checks are all checks in the order of the report.
var checks = []struct {
	name, law, says string
	run             func(*trial, *Result)
}{
	{"registers", "L8", "settings are linearizable registers: every read and every conditional write " +
		"fits one order of all writes", registers},
	{"claims", "L6, L8", "the states of each task fit one order: it is claimed once per attempt, and " +
		"worked on and completed only by its last attempt", claims},
	{"lifecycle", "L8", "no task that was accepted is lost, none is completed twice, and each was " +
		"completed by its last attempt", lifecycle},
	{"retries", "L8", "a task is FAILED or QUARANTINED only when its own attempts are used up, none of them " +
		"begins before its wait is over, and a half-open role tries 1, 2, 4, 8 tasks at once", retries},
	{"requests", "L8", "one write id has one effect, and every repetition of it gets the same answer", requests},
	{"reads", "L8", "linearizable reads show every write acknowledged before them; stale reads of one " +
		"server never go back", reads},
	{"mail", "L8", "no mail that was accepted is lost; each life of its agent gets it once, none after " +
		"it was acknowledged, and a redelivery says so", mail},
	{"rooms", "L6, L8", "a room that is deleted and declared again has no task, and hears no life, of " +
		"the one before; none of its own tasks is lost", rooms},
	{"budgets", "", "floods of tasks, of mail and of what agents keep are refused with code full when their " +
		"share is used up, not before and not after it; nothing else is refused", budgets},
	{"one life", "L7", "two lives of a fenced agent never run at the same moment, by their own account", oneLife},
	{"fencing", "L6", "nothing that an older life says after a newer one has begun is acknowledged", fencing},
	{"completed once", "L8", "no task is acknowledged as completed to two lives", completedOnce},
	{"double starts", "L4", "no incarnation is started twice, and nothing runs that was not ordered", doubleStarts},
	{"guards", "L7", "what a fault itself can see holds: no second daemon is let into a data directory", guards},
	{"hostile", "", "whatever a hostile agent, host or stranger tried was refused, with a code that says why", hostile},
	{"start orders", "L4", "an agent has at most one open start order, and its incarnations only grow", startOrders},
	{"intent", "L9", "after a stop was acknowledged the agent ends, and nothing of it starts until a " +
		"human wants it again", intent},
	{"false deaths", "L10", "no lease or fence ends of a life that ran on a host which no fault touched", falseDeaths},
	{"lease ends", "L2", "a life that does not run has lost its lease soon after its TTL", leaseEnds},
	{"restarts", "L11", "the restart budget holds: failures in a row have growing pauses and then park " +
		"the agent, and no pause is cut short", restarts},
	{"watch", "L12", "every watcher gets every event once, in order, without a gap, also after it had " +
		"to resume; all get the same events", watch},
	{"agreement", "L12", "no server's state differed from that of the majority", agreement},
	{"availability", "", "while a majority of servers is untouched, writes are acknowledged", availability},
	{"recovery", "L3", "after faults are healed writes succeed, and every agent runs or shows why not", recovery},
}

// All judges a record with the default bounds. lives are sorted as ledger.Read gives
// them. The same record gives the same results, unless a search runs out of time.
func All(rec *history.Record, lives []*ledger.Life) []Result {
	return Judge(rec, lives, DefaultBounds(time.Duration(rec.Run.TTL)))
}

// Judge is All with other bounds.
func Judge(rec *history.Record, lives []*ledger.Life, bounds Bounds) []Result {
	t := newTrial(rec, lives, bounds)
	results := make([]Result, len(checks))
	var wait sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, c := range checks {
		wait.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			r := &results[i]
			r.Name, r.Law, r.Says = c.name, c.law, c.says
			c.run(t, r)
			r.conclude()
		})
	}
	wait.Wait()
	return results
}

// Worst is the verdict on all results: broken before undecided before kept.
func Worst(results []Result) string {
	worst := Nothing
	for _, verdict := range []string{Kept, Undecided, Broken} {
		if slices.ContainsFunc(results, func(r Result) bool { return r.Verdict == verdict }) {
			worst = verdict
		}
	}
	return worst
}

// conclude gives the verdict, unless the check has given one itself.
func (r *Result) conclude() {
	switch {
	case len(r.Findings) > 0:
		r.Verdict = Broken
	case r.Verdict != "":
	case r.Judged == 0:
		r.Verdict = Nothing
	default:
		r.Verdict = Kept
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return compare(a.From, b.From) })
}

// judged counts things that were judged.
func (r *Result) judged(n int) { r.Judged += n }

// found notes something that is broken.
func (r *Result) found(f Finding, format string, args ...any) {
	f.What = fmt.Sprintf(format, args...)
	r.Findings = append(r.Findings, f)
}

// excuse counts one thing that is not held against the product.
func (r *Result) excuse(why string) {
	for i := range r.Excused {
		if r.Excused[i].Why == why {
			r.Excused[i].Count++
			return
		}
	}
	r.Excused = append(r.Excused, Excused{why, 1})
}

func (r *Result) count(name string, n int) { r.Stats = append(r.Stats, Stat{name, float64(n), ""}) }

func (r *Result) took(name string, d time.Duration) {
	r.Stats = append(r.Stats, Stat{name, d.Seconds(), "s"})
}
