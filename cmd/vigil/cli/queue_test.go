package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vigil/cmd/vigil/term"
)

// gate is a log that nobody reads until it is opened.
type gate struct {
	open chan struct{}
	text bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.text.Write(p)
}

// A log that nobody reads holds nobody up. Once it is read it has what came first, how much was left out, and what
// comes then.
func TestL10NobodyWaitsForWhoReadsTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &gate{open: make(chan struct{})}
		a := &App{Terminal: term.Terminal{Err: to}}
		a.QueueErr()
		const size, all = 1 << 10, 3000
		line := func(i int) string { return fmt.Sprintf("%-*d\n", size-1, i) }
		fmt.Fprint(a.Err, line(0))
		synctest.Wait() // it is being written
		for i := 1; i < all; i++ {
			fmt.Fprint(a.Err, line(i)) // which would wait for ever
		}
		close(to.open)
		synctest.Wait()
		fmt.Fprint(a.Err, "after\n")
		a.EndErr()
		var want strings.Builder
		const fits = 1 + maxQueued/size
		for i := range fits {
			want.WriteString(line(i))
		}
		fmt.Fprintf(&want, "vigil: %d lines were left out, which nobody had read in time\nafter\n", all-fits)
		if to.text.String() != want.String() {
			t.Errorf("%d bytes were written, which end with %q", to.text.Len(), to.text.String()[max(0, to.text.Len()-200):])
		}
	})
}

// The log says in its own form that lines were left out, also when that is the last word.
func TestLogTellsWhatItLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &gate{open: make(chan struct{})}
		q := newQueue(to)
		q.Tell(func(lines int) { fmt.Fprintf(q, "left out: %d\n", lines) })
		fmt.Fprint(q, "first\n")
		synctest.Wait()
		fmt.Fprint(q, strings.Repeat("x", maxQueued)+"\n")
		fmt.Fprint(q, "two\nlines\n")
		close(to.open)
		q.end()
		if want := "first\nleft out: 3\n"; to.text.String() != want {
			t.Errorf("written %q, want %q", to.text.String(), want)
		}
	})
}

// The end of the program waits for its last words, and not for ever.
func TestTheEndWaitsForTheLogForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &gate{open: make(chan struct{})}
		q := newQueue(to)
		fmt.Fprint(q, "why it ends\n")
		began := time.Now()
		q.end()
		if waited := time.Since(began); waited != lastLimit {
			t.Errorf("the end waited for %s, want %s", waited, lastLimit)
		}
		close(to.open)
		q.end()
		if to.text.String() != "why it ends\n" {
			t.Errorf("written %q", to.text.String())
		}
	})
}
