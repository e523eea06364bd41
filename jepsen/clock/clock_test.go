//go:build linux

package clock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

var folder string

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// build builds a program that tells the time, once.
var build = sync.OnceValues(func() (program string, err error) {
	if folder, err = os.MkdirTemp("", "clock-test"); err != nil {
		return "", err
	}
	program = filepath.Join(folder, "teller")
	return program, Build(program, "vigil/jepsen/clock/teller")
})

// teller is a running process that tells its time.
type teller struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

func start(t *testing.T, env ...string) *teller { return startWith(t, nil, env...) }

func startWith(t *testing.T, args []string, env ...string) *teller {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	return &teller{t: t, in: in, out: bufio.NewReader(out)}
}

// told is one answer: how wrong the wall clock was, at least and at most, and how much
// time had passed by both clocks.
type told struct{ least, most, mono, wall time.Duration }

func (p *teller) ask() (a told) {
	p.t.Helper()
	sent := time.Now().Round(0)
	fmt.Fprintln(p.in)
	var wall, mono, passed int64
	if _, err := fmt.Fscanln(p.out, &wall, &mono, &passed); err != nil {
		p.t.Fatal(err)
	}
	at := time.Unix(0, wall)
	return told{at.Sub(time.Now().Round(0)), at.Sub(sent), time.Duration(mono), time.Duration(passed)}
}

// wants says that an answer fits an offset. A millisecond is for a clock of the
// machine that is itself being adjusted.
func (a told) wants(t *testing.T, by time.Duration) {
	t.Helper()
	if a.least > by+time.Millisecond || a.most < by-time.Millisecond {
		t.Errorf("the clock is wrong by %v to %v, want %v", a.least, a.most, by)
	}
}

func newClock(t *testing.T) *Clock {
	t.Helper()
	c, err := New(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestWallClockIsSteppedAndMonotonicTimeIsNot(t *testing.T) {
	c := newClock(t)
	p := start(t, c.Env())
	p.ask().wants(t, 0)
	const year = 365 * 24 * time.Hour
	last := time.Duration(0)
	for _, by := range []time.Duration{
		time.Minute, time.Hour, 10 * year, -time.Minute, -time.Hour, -10 * year, 1500 * time.Millisecond,
		-1500 * time.Millisecond, 999_999_999, -999_999_999, 1, -1, 0,
	} {
		c.Set(by)
		a := p.ask()
		a.wants(t, by)
		if a.mono < last || a.mono > last+time.Minute {
			t.Errorf("stepped by %v: monotonic time goes from %v to %v", by, last, a.mono)
		}
		if d := a.wall - a.mono - by; d > time.Second || d < -time.Second {
			t.Errorf("stepped by %v: %v have passed by the wall clock, %v by the other", by, a.wall, a.mono)
		}
		last = a.mono
	}
}

func TestOnlyProcessesWithAClockAreStepped(t *testing.T) {
	c := newClock(t)
	c.Set(time.Hour)
	start(t).ask().wants(t, 0)
	start(t, variable+"=/nonexistent/clock").ask().wants(t, 0)
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, variable+"="+empty).ask().wants(t, 0)
	start(t, c.Env()).ask().wants(t, time.Hour) // also one that starts later
	startWith(t, []string{"again"}, c.Env()).ask().wants(t, time.Hour)
}

func TestStrobeStepsToAndFroAndBack(t *testing.T) {
	c := newClock(t)
	c.Set(time.Hour)
	p := start(t, c.Env())
	ctx, stop := context.WithCancel(t.Context())
	steps := make(chan int, 1)
	go func() { steps <- c.Strobe(ctx, 2*time.Millisecond, time.Minute, rand.New(rand.NewPCG(1, 1))) }()
	seen := map[bool]bool{}
	for end := time.Now().Add(time.Minute); len(seen) < 2 && time.Now().Before(end); {
		switch a := p.ask(); {
		case a.least > time.Hour+30*time.Second:
			seen[true] = true
		case a.most < time.Hour-30*time.Second:
			seen[false] = true
		}
	}
	stop()
	if n := <-steps; len(seen) < 2 || n < 2 {
		t.Errorf("seen %v after %d steps, want both sides", seen, n)
	}
	p.ask().wants(t, time.Hour)
}
