package ledger

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const ms = int64(1e6)

// life makes a life that runs in the given times, in milliseconds: from, to, from,
// to, ...
func life(agent string, inc uint64, host string, spans ...int64) *Life {
	l := &Life{Agent: agent, Incarnation: inc, Host: host, Start: spans[0] * ms, File: agent}
	for i := 0; i < len(spans); i += 2 {
		for at := spans[i] * ms; at <= spans[i+1]*ms; at += TickEvery {
			l.Ticks = append(l.Ticks, at)
		}
	}
	return l
}

func (l *Life) says(sent int64, what string, task uint64) *Life {
	l.Said = append(l.Said, Said{sent * ms, sent*ms + ms, what, task, 1})
	return l
}

// The judge must see what is broken, and nothing else: a ledger that cannot fail
// proves nothing.
func TestJudge(t *testing.T) {
	onlyF := func(agent string) bool { return strings.HasPrefix(agent, "r/f") }
	for _, c := range []struct {
		name  string
		lives []*Life
		rules Rules
		want  Verdict // the numbers of findings count
	}{
		{name: "one after the other", lives: []*Life{life("r/f", 1, "h1", 0, 1000), life("r/f", 2, "h2", 1050, 2000)}},
		{name: "two agents at once", lives: []*Life{life("r/f", 1, "h1", 0, 1000), life("r/f.2", 2, "h2", 0, 2000)}},
		{name: "two lives at once", lives: []*Life{life("r/f", 1, "h1", 0, 1100), life("r/f", 2, "h2", 1050, 2000)},
			want: Verdict{Overlaps: make([]Finding, 1)}},
		{name: "a single tick at once", lives: []*Life{life("r/f", 1, "h1", 0, 1000, 1510, 1510),
			life("r/f", 2, "h2", 1480, 2000)},
			want: Verdict{Overlaps: make([]Finding, 1), Freezes: 1}},
		{name: "frozen while the newer runs, then gone",
			lives: []*Life{life("r/f", 1, "h1", 0, 1000), life("r/f", 2, "h2", 1200, 5000)}},
		{name: "frozen, thawed before the newer begins",
			lives: []*Life{life("r/f", 1, "h1", 0, 1000, 4000, 4900), life("r/f", 2, "h2", 5000, 6000)},
			want:  Verdict{Freezes: 1}},
		{name: "thawed while the newer runs", lives: []*Life{life("r/f", 1, "h1", 0, 1000, 3000, 3200),
			life("r/f", 2, "h2", 1200, 5000)},
			want: Verdict{Overlaps: make([]Finding, 1), Freezes: 1}},
		{name: "thawed after the newer has ended",
			lives: []*Life{life("r/f", 1, "h1", 0, 1000, 3000, 3200), life("r/f", 2, "h2", 1200, 2000)},
			want:  Verdict{Late: make([]Finding, 1), Freezes: 1}},
		{name: "thawed in a gap of the newer", lives: []*Life{life("r/f", 1, "h1", 0, 1000, 3000, 3200),
			life("r/f", 2, "h2", 1200, 2000, 4000, 5000)},
			want: Verdict{Late: make([]Finding, 1), Freezes: 2}},
		{name: "not fenced", rules: Rules{Fenced: onlyF},
			lives: []*Life{life("r/q", 1, "h1", 0, 1100), life("r/q", 2, "h2", 1050, 2000)}},
		{name: "the same life twice", rules: Rules{Fenced: onlyF},
			lives: []*Life{life("r/q", 1, "h1", 0, 1100), life("r/q", 1, "h1", 2050, 3000)},
			want:  Verdict{Doubles: make([]Finding, 1)}},
		{name: "its host was paused", lives: []*Life{life("r/f", 1, "h1", 0, 1000, 9000, 9200),
			life("r/f", 2, "h2", 4000, 9900)},
			rules: Rules{Slack: time.Second, Pauses: []Pause{{Host: "h1", From: 1010 * ms, To: 8990 * ms}}},
			want:  Verdict{Excused: 1, Freezes: 1}},
		{name: "its host was paused, but it ran on for too long",
			lives: []*Life{life("r/f", 1, "h1", 0, 1000, 9000, 10200), life("r/f", 2, "h2", 4000, 12000)},
			rules: Rules{Slack: time.Second, Pauses: []Pause{{Host: "h1", From: 1010 * ms, To: 8990 * ms}}},
			want:  Verdict{Overlaps: make([]Finding, 1), Freezes: 1}},
		{name: "another host was paused", lives: []*Life{life("r/f", 1, "h1", 0, 1000, 9000, 9200),
			life("r/f", 2, "h2", 4000, 9900)},
			rules: Rules{Slack: time.Second, Pauses: []Pause{{Host: "h2", From: 1010 * ms, To: 8990 * ms}}},
			want:  Verdict{Overlaps: make([]Finding, 1), Freezes: 1}},
		{name: "another agent's shim was paused",
			lives: []*Life{life("r/f", 1, "h1", 0, 1000, 9000, 9200), life("r/f", 2, "h2", 4000, 9900)},
			rules: Rules{Slack: time.Second, Pauses: []Pause{{Host: "h1", Agent: "r/f.2", From: 1010 * ms,
				To: 8990 * ms}}}, want: Verdict{Overlaps: make([]Finding, 1), Freezes: 1}},
		{name: "an older life is heard", rules: Rules{Fenced: onlyF}, lives: []*Life{
			life("r/q", 1, "h1", 0, 2000).says(900, "start", 7).says(1500, "complete", 7),
			life("r/q", 2, "h2", 1000, 2000)},
			want: Verdict{Spoken: make([]Finding, 1)}},
		{name: "a late answer to what was said in time", rules: Rules{Fenced: onlyF}, lives: []*Life{
			life("r/q", 1, "h1", 0, 2000).says(999, "complete", 7), life("r/q", 2, "h2", 999, 2000)}},
		{name: "a task completed by two", lives: []*Life{life("r/f", 1, "h1", 0, 900).says(100, "complete", 7),
			life("r/f.2", 1, "h2", 0, 2000).says(1500, "complete", 7)},
			want: Verdict{Twice: make([]Finding, 1)}},
		{name: "a task completed twice by one",
			lives: []*Life{life("r/f", 1, "h1", 0, 900).says(100, "complete", 7).says(150, "complete", 7)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Judge(c.lives, c.rules)
			got := [...]int{len(v.Overlaps), len(v.Late), len(v.Doubles), len(v.Spoken), len(v.Twice), v.Excused,
				v.Freezes}
			w := c.want
			want := [...]int{len(w.Overlaps), len(w.Late), len(w.Doubles), len(w.Spoken), len(w.Twice),
				w.Excused, w.Freezes}
			if got != want {
				t.Errorf("overlaps, late, doubles, spoken, twice, excused, freezes: got %v, want %v\n%v",
					got, want, v.Broken())
			}
			if v.Excused > 0 && v.Longest <= 0 {
				t.Errorf("the longest excused time is %s", v.Longest)
			}
		})
	}
}

func TestLedgerIsReadAsItWasWritten(t *testing.T) {
	dir := t.TempDir()
	for _, inc := range []uint64{2, 1} {
		w, err := Create(dir, "room/role.3", inc, "h1", 40+int(inc))
		if err != nil {
			t.Fatal(err)
		}
		sent := Now()
		for _, err := range []error{w.Tick(), w.Said(sent, "complete", 9, 2), w.Note("term"),
			w.Note("exit"), Gone(dir, w.Name())} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// A process that was killed while it wrote, and one before it could.
	if err := os.WriteFile(filepath.Join(dir, "cut.life"),
		[]byte("life room/role 1 h2 7\nstart 100\nt 150\nt 20"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "unborn.life"), []byte("life room/role 2 h2 8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lives, err := Read(dir)
	if err != nil || len(lives) != 3 {
		t.Fatalf("%d lives, %v", len(lives), err)
	}
	cut, l := lives[0], lives[1]
	if cut.Agent != "room/role" || cut.Last() != 150 || len(cut.Ticks) != 2 {
		t.Errorf("the life that was cut off: %+v", cut)
	}
	if l.Agent != "room/role.3" || l.Incarnation != 1 || l.Host != "h1" || l.PID != 41 || len(l.Ticks) != 5 ||
		l.Term == 0 || l.Exit == 0 || l.Gone == 0 || len(l.Said) != 1 || l.Said[0].Task != 9 || l.Said[0].Attempt != 2 {
		t.Errorf("the whole life: %+v", l)
	}
	if lives[2].Incarnation != 2 {
		t.Errorf("order: %+v", lives[2])
	}
}

func TestWrongRecordsAreErrors(t *testing.T) {
	for _, text := range []string{"nonsense 1\n", "life a 1 h\n", "start x\n", "said 1 2 complete 3\n", "t\n"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
