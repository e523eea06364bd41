package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
)

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
)

// book is a small record under construction. Times are in milliseconds. The run
// begins at 0, is calm at 60 s and ends at 180 s; the TTL is 2 s.
type book struct {
	rec   *history.Record
	lives []*ledger.Life
}

func newBook() *book {
	return &book{rec: &history.Record{Run: history.Run{
		Servers: []string{"s1", "s2", "s3"}, Hosts: []string{"h1", "h2"}, TTL: 2 * second, Fenced: []string{"r/f"},
		Calm: 60 * second, Ended: 180 * second,
	}}}
}

// op adds a call. Its times are milliseconds here.
func (b *book) op(workload, kind string, call, back int64, op history.Op) *book {
	op.Workload, op.Kind, op.Call, op.Return = workload, kind, call*ms, back*ms
	if op.Outcome == "" {
		op.Outcome = history.OK
	}
	b.rec.Ops = append(b.rec.Ops, op)
	return b
}

// says adds an event that watcher 1 got, with the next number.
func (b *book) says(at int64, kind, agent string, incarnation uint64, text string) *book {
	return b.event(1, at, history.Event{Kind: kind, Agent: agent, Incarnation: incarnation, Text: text})
}

// event adds an event. Without a number it gets the next one of the watcher.
func (b *book) event(watcher int, at int64, e history.Event) *book {
	if e.Seq == 0 {
		e.Seq = 1
		for _, x := range b.rec.Events {
			if x.Watcher == watcher {
				e.Seq = x.Seq + 1
			}
		}
	}
	e.Watcher, e.Got, e.Index = watcher, at*ms, e.Seq+100
	b.rec.Events = append(b.rec.Events, e)
	return b
}

// life adds a life that runs in the given times: from, to, from, to, ...
func (b *book) life(agent string, incarnation uint64, host string, times ...int64) *book {
	l := &ledger.Life{Agent: agent, Incarnation: incarnation, Host: host, Start: times[0] * ms,
		File: fmt.Sprintf("%s-%d-%s.life", strings.ReplaceAll(agent, "/", "%"), incarnation, host)}
	for i := 0; i < len(times); i += 2 {
		for at := times[i] * ms; at <= times[i+1]*ms; at += ledger.TickEvery {
			l.Ticks = append(l.Ticks, at)
		}
	}
	b.lives = append(b.lives, l)
	return b
}

// word lets the last life note what it was told.
func (b *book) word(sent int64, what string, task uint64, attempt uint32) *book {
	l := b.lives[len(b.lives)-1]
	l.Said = append(l.Said, ledger.Said{Sent: sent * ms, At: sent*ms + ms, What: what, Task: task, Attempt: attempt})
	return b
}

// touch adds a fault with one effect.
func (b *book) touch(machine, what string, from, to int64) *book {
	return b.touchAgent(machine, what, "", from, to)
}

func (b *book) touchAgent(machine, what, agent string, from, to int64) *book {
	b.rec.Faults = append(b.rec.Faults, history.Fault{Kind: "a_kind", Lane: "servers", From: from * ms, To: to * ms,
		Effects: []history.Effect{{Machine: machine, What: what, Agent: agent, From: from * ms, To: to * ms}}})
	return b
}

func (b *book) look(at int64, agent string, incarnation uint64, process, participant, why string) *book {
	b.rec.Looks = append(b.rec.Looks, history.Look{Sent: at * ms, At: at*ms + ms, Agent: agent,
		Incarnation: incarnation,
		Process:     process, Participant: participant, Desired: "running", Why: why})
	return b
}

// trialCase is one small history and what one check must say of it.
type trialCase struct {
	check, name string
	book        *book
	verdict     string
	what        string // part of the first finding, or of the first excuse when there is no finding
}

func (c *trialCase) run(t *testing.T) {
	results := All(c.book.rec, c.book.lives)
	i := slices.IndexFunc(results, func(r Result) bool { return r.Name == c.check })
	if i < 0 {
		t.Fatalf("there is no check %q", c.check)
	}
	r := results[i]
	said := ""
	switch {
	case len(r.Findings) > 0:
		said = r.Findings[0].What
	case len(r.Excused) > 0:
		said = r.Excused[0].Why
	}
	if r.Verdict != c.verdict || !strings.Contains(said, c.what) || c.what == "" && said != "" {
		t.Errorf("verdict %s (%q), want %s (%q)", r.Verdict, said, c.verdict, c.what)
	}
	for _, line := range r.Timelines {
		var page bytes.Buffer
		if err := line.Write(&page); err != nil || !strings.Contains(page.String(), "</html>") {
			t.Errorf("timeline %s has %d bytes: %v", line.Name, page.Len(), err)
		}
	}
}

// Every law is broken once, which must be seen, and kept once, which must not be.
func TestChecks(t *testing.T) {
	covered := map[string]map[string]bool{}
	for _, cases := range [][]trialCase{registerCases(), claimCases(), lifecycleCases(), retryCases(), requestCases(),
		readCases(), ledgerCases(), mailCases(), roomCases(), orderCases(), intentCases(), leaseCases(),
		restartCases(), watchCases(), progressCases(), hostileCases()} {
		for _, c := range cases {
			if covered[c.check] == nil {
				covered[c.check] = map[string]bool{}
			}
			covered[c.check][c.verdict] = true
			t.Run(c.check+"/"+c.name, c.run)
		}
	}
	for _, c := range checks {
		if !covered[c.name][Kept] || !covered[c.name][Broken] {
			t.Errorf("check %q has no case that keeps it or none that breaks it", c.name)
		}
	}
}

// An empty record proves nothing, and says so.
func TestNothingToJudge(t *testing.T) {
	results := All(&history.Record{}, nil)
	for _, r := range results {
		if r.Verdict != Nothing {
			t.Errorf("%s: %s without anything in the record: %+v", r.Name, r.Verdict, r.Findings)
		}
	}
	if got := Worst(results); got != Nothing {
		t.Errorf("the verdict on all is %q", got)
	}
	for verdicts, want := range map[string]string{"kept,nothing to judge": Kept,
		"kept,undecided": Undecided, "undecided,broken,kept": Broken} {
		var list []Result
		for verdict := range strings.SplitSeq(verdicts, ",") {
			list = append(list, Result{Verdict: verdict})
		}
		if got := Worst(list); got != want {
			t.Errorf("of %s the worst is %q, want %q", verdicts, got, want)
		}
	}
}

// A search that has no time left has decided nothing.
func TestSearchWithoutTimeIsUndecided(t *testing.T) {
	b := newBook().op("register", "write", 0, 1, history.Op{Key: "k", Value: "a"})
	bounds := DefaultBounds(time.Second)
	bounds.Search = 0
	for _, r := range Judge(b.rec, nil, bounds) {
		if r.Name == "registers" && r.Verdict != Undecided {
			t.Errorf("verdict %s", r.Verdict)
		}
	}
}

// The same record gives the same results.
func TestDeterministic(t *testing.T) {
	text := func() string {
		out := ""
		for _, cases := range [][]trialCase{registerCases(), requestCases(), leaseCases()} {
			for _, c := range cases {
				for _, r := range All(c.book.rec, c.book.lives) {
					r.Timelines = nil
					out += fmt.Sprintf("%+v\n", r)
				}
			}
		}
		return out
	}
	if a, b := text(), text(); a != b {
		t.Error("two judgements of the same records differ")
	}
}
