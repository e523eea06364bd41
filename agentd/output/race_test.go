package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// poke tells readers that there is more, as a writer of the same process does.
func (l *Log) poke() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.grown)
	l.grown = make(chan struct{})
}

// Every line goes into a file of its own, and the writer of another process rotates
// while the follower goes from file to file. It never has more files in advance than
// are kept, so not one line may be missing, doubled, or called skipped.
func TestFollowerMissesNoFileOfAWriterThatRotates(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 8
	}
	for round := range rounds {
		followRotations(t, []int{3, 4, 9, 30}[round%4], round%2 == 0)
		if t.Failed() {
			return
		}
	}
}

func followRotations(t *testing.T, keep int, early bool) {
	const lines = 120
	config := Config{Dir: t.TempDir(), MaxBytes: 1, Keep: keep} // any further line is too many
	to, err := NewDir(config).Log("demo/a")
	if err != nil {
		t.Fatal(err)
	}
	from, err := NewDir(config).Log("demo/a")
	if err != nil {
		t.Fatal(err)
	}
	defer to.close()
	if !early { // else the follower is there before the first file is
		fmt.Fprintf(to, "line %05d\n", 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var heard atomic.Int64 // lines
	more := make(chan struct{}, 1)
	written := make(chan struct{})
	go func() {
		defer close(written)
		begin := 1
		if early {
			begin = 0
		}
		for i := begin; i < lines; i++ {
			// The file that is open, and one that is just being begun, are not kept for it.
			for int64(i)-heard.Load() > int64(keep)-2 {
				select {
				case <-more:
				case <-ctx.Done():
					return
				}
			}
			fmt.Fprintf(to, "line %05d\n", i)
			from.poke()
		}
	}()
	var got strings.Builder
	err = from.Read(ctx, lines, true, func(p []byte) error {
		got.Write(p)
		n := heard.Add(int64(strings.Count(string(p), "\n")))
		if last := fmt.Sprintf("line %05d\n", n-1); !strings.HasSuffix(got.String(), last) {
			cancel() // told below; the writer would wait for ever
		}
		select {
		case more <- struct{}{}:
		default:
		}
		if heard.Load() >= lines {
			cancel()
		}
		return nil
	})
	cancel()
	<-written
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(got.String()) {
		if line != fmt.Sprintf("line %05d\n", n) {
			t.Fatalf("%d files are kept: line %d is %q", keep, n, line)
		}
		n++
	}
	if n != lines {
		t.Fatalf("%d of %d lines", n, lines)
	}
}

// A file that moves while its successor is looked for, at any step of a rotation: what
// is opened is the next one, or it is looked for again.
func TestSuccessorAtEveryStepOfARotation(t *testing.T) {
	const keep = 6
	for open := 1; open <= keep; open++ {
		for gap := range keep + 1 { // a rotation has come so far: nothing has this name
			dir := t.TempDir()
			l, err := NewDir(Config{Dir: dir, Keep: keep}).Log("demo/a")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
				t.Fatal(err)
			}
			for i := range keep + 1 {
				if i != gap {
					if err := os.WriteFile(l.older(i), fmt.Appendf(nil, "%d", i), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if open == gap {
				continue
			}
			r := &reader{log: l}
			if r.file, err = os.Open(l.older(open)); err != nil {
				t.Fatal(err)
			}
			want := l.older(open - 1)
			if open-1 == gap {
				want = ""
				if open >= 2 {
					want = l.older(open - 2)
				}
			}
			f, skipped, err := r.next(t.Context())
			switch {
			case err != nil || skipped:
				t.Errorf("file %d, gap %d: skipped %v, %v", open, gap, skipped, err)
			case f == nil && want != "" || f != nil && f.Name() != want:
				t.Errorf("file %d, gap %d: %v follows, want %q", open, gap, f, want)
			}
			closeFile(f)
			r.close()
		}
	}
}
