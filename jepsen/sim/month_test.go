package sim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// result is what one day tells.
type result struct {
	Seed     uint64         `json:"seed"`
	Servers  int            `json:"servers"`
	Faults   map[string]int `json:"faults"` // kind -> how often
	Lives    int            `json:"lives"`
	Restarts int            `json:"restarts"` // of crashed, hung and lost agents
	Done     int            `json:"done"`     // tasks
	Slowest  time.Duration  `json:"slowest"`  // recovery after faults
	Hours    float64        `json:"hours"`
	Broken   []string       `json:"broken"` // laws

	cpu    time.Duration
	output []byte
	failed bool
}

const resultMark = "simulated day: "

func printResult(w *world) {
	l := w.ledger
	r := result{Seed: w.cfg.seed, Servers: w.n, Faults: map[string]int{}, Lives: l.counts["starts"],
		Done:     l.counts["tasks completed"],
		Restarts: l.counts["ended: crash"] + l.counts["ended: clean"] + l.counts["ended: host"],
		Hours:    l.length.Hours()}
	for k, n := range l.counts {
		if kind, ok := strings.CutPrefix(k, "fault: "); ok {
			r.Faults[kind] = n
		}
	}
	for _, d := range l.recoveries["a write after faults"] {
		r.Slowest = max(r.Slowest, d)
	}
	for _, b := range l.breaches {
		if !slices.Contains(r.Broken, b.law) {
			r.Broken = append(r.Broken, b.law)
		}
	}
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Printf("\n%s%s\n", resultMark, text)
}

// Many days, each of its own seed and in a process of its own, as many at a time as
// there are processors. A day that fails leaves its record and says how to repeat it.
func TestMonth(t *testing.T) {
	if *daysFlag == 0 && *timeFlag == 0 {
		t.Skip("needs -sim.days or -sim.time")
	}
	m := newMonth(t)
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for seed, ok := m.next(); ok; seed, ok = m.next() {
				m.ended(m.day(seed))
			}
		})
	}
	wg.Wait()
	m.sum()
}

// month is many days.
type month struct {
	t     *testing.T
	out   string
	hours float64
	begun time.Time

	mu     sync.Mutex
	seed   uint64
	left   int // days; less than 0: until the time is over
	days   int
	failed int
	total  result
}

func newMonth(t *testing.T) *month {
	m := &month{t: t, out: folder(t), hours: *hoursFlag, begun: time.Now(), seed: max(*seedFlag, 1), left: -1}
	if m.hours == 0 {
		m.hours = 24
	}
	if *timeFlag == 0 {
		m.left = *daysFlag
	}
	m.total.Faults = map[string]int{}
	return m
}

// next gives the seed of the next day; false: there is none.
func (m *month) next() (uint64, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left == 0 || *timeFlag > 0 && time.Since(m.begun) >= *timeFlag {
		return 0, false
	}
	m.left--
	m.seed++
	return m.seed - 1, true
}

// day runs one. One processor and a lazy collector make it cost least.
func (m *month) day(seed uint64) result {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSimulatedDay$",
		"-test.v", "-test.timeout=55m", "-sim.child",
		fmt.Sprintf("-sim.seed=%d", seed), fmt.Sprintf("-sim.hours=%g", m.hours), "-sim.out="+m.out)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", "GOMEMLIMIT=1GiB")
	output, err := cmd.CombinedOutput()
	r := result{Seed: seed, output: output, failed: err != nil}
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), resultMark); ok {
			r.failed = json.Unmarshal([]byte(text), &r) != nil || r.failed
		}
	}
	if cmd.ProcessState != nil {
		r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return r
}

// ended prints the line of a day.
func (m *month) ended(r result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	verdict := "no law broken"
	if r.failed {
		verdict = "FAILED " + strings.Join(r.Broken, " ")
	}
	faults := 0
	for kind, n := range r.Faults {
		faults += n
		m.total.Faults[kind] += n
	}
	fmt.Printf("seed %4d: %d servers, %.1f h, %d faults of %d kinds, %d lives, %d restarts, "+
		"%d tasks done, %s, %.1f s of processor time\n",
		r.Seed, r.Servers, r.Hours, faults, len(r.Faults), r.Lives, r.Restarts, r.Done, verdict, r.cpu.Seconds())
	m.days++
	m.total.Lives += r.Lives
	m.total.Restarts += r.Restarts
	m.total.Done += r.Done
	m.total.Hours += r.Hours
	m.total.cpu += r.cpu
	m.total.Slowest = max(m.total.Slowest, r.Slowest)
	if !r.failed {
		return
	}
	m.failed++
	dir := filepath.Join(m.out, fmt.Sprintf("seed-%d", r.Seed))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		m.t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "output.txt"), r.output, 0o644); err != nil {
		m.t.Error(err)
	}
	m.t.Errorf("seed %d: %s; record in %s; to repeat: %s", r.Seed, verdict, dir, repeats(r.Seed, m.hours))
}

// sum prints what all days had.
func (m *month) sum() {
	faults := 0
	for _, kind := range slices.Sorted(maps.Keys(m.total.Faults)) {
		fmt.Printf("  %-44s %d\n", kind, m.total.Faults[kind])
		faults += m.total.Faults[kind]
	}
	fmt.Printf("%d days (%.1f h), %d failed: %d faults of %d kinds, %d lives, %d restarts, "+
		"%d tasks done, slowest recovery %v; %v, %v of processor time\n",
		m.days, m.total.Hours, m.failed, faults, len(m.total.Faults), m.total.Lives, m.total.Restarts, m.total.Done,
		m.total.Slowest.Round(time.Millisecond), time.Since(m.begun).Round(time.Second), m.total.cpu.Round(time.Second))
}
