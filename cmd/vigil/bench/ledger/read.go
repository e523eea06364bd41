package ledger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Life is what one process wrote.
type Life struct {
	Agent       string
	Incarnation uint64
	Host        string
	PID         int
	File        string

	Start int64
	Ticks []int64 // every record shows that it ran: ascending, Start is the first
	Term  int64   // 0: none
	Exit  int64   // 0: it did not end by itself
	Gone  int64   // 0: nobody saw its end
	Said  []Said
}

// Said is one acknowledged call.
type Said struct {
	Sent, At int64
	What     string // join, claim, start, progress, complete, fail, fail=2s
	Task     uint64
	Attempt  uint32
}

// Last is the last moment at which it certainly ran.
func (l *Life) Last() int64 { return l.Ticks[len(l.Ticks)-1] }

// Read reads all lives of a folder, by agent, incarnation and start. A file without
// a start is left out: its process was killed before it could write.
func Read(folder string) ([]*Life, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.life"))
	if err != nil {
		return nil, fmt.Errorf("list ledger: %w", err)
	}
	var lives []*Life
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		l, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("read ledger %s: %w", file, err)
		}
		if l != nil {
			l.File = filepath.Base(file)
			lives = append(lives, l)
		}
	}
	slices.SortFunc(lives, func(a, b *Life) int {
		if c := strings.Compare(a.Agent, b.Agent); c != 0 {
			return c
		}
		if a.Incarnation != b.Incarnation {
			if a.Incarnation < b.Incarnation {
				return -1
			}
			return 1
		}
		return int(max(-1, min(1, a.Start-b.Start)))
	})
	return lives, nil
}

// parse reads one file, nil when its life never began.
func parse(text []byte) (*Life, error) {
	l := &Life{}
	// What is behind the last line end was cut off.
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	for n, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		if line == "" {
			continue
		}
		if err := l.record(strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d (%q): %w", n+1, line, err)
		}
	}
	if l.Start == 0 {
		return nil, nil
	}
	slices.Sort(l.Ticks)
	return l, nil
}

func (l *Life) record(f []string) (err error) {
	number := func(i int) (n int64) {
		if i >= len(f) {
			err = fmt.Errorf("field %d is missing", i)
			return 0
		}
		n, e := strconv.ParseInt(f[i], 10, 64)
		if e != nil {
			err = e
		}
		return n
	}
	at := int64(0)
	switch f[0] {
	case "life":
		if len(f) != 5 {
			return fmt.Errorf("a life has 5 fields, not %d", len(f))
		}
		l.Agent, l.Incarnation, l.Host, l.PID = f[1], uint64(number(2)), f[3], int(number(4))
	case "start":
		l.Start = number(1)
		at = l.Start
	case "t":
		at = number(1)
	case "term":
		l.Term = number(1)
		at = l.Term
	case "exit":
		l.Exit = number(1)
		at = l.Exit
	case "gone":
		l.Gone = number(1)
	case "said":
		if len(f) != 6 {
			return fmt.Errorf("a word has 6 fields, not %d", len(f))
		}
		l.Said = append(l.Said, Said{number(1), number(2), f[3], uint64(number(4)), uint32(number(5))})
		at = number(2)
	default:
		return fmt.Errorf("unknown record %q", f[0])
	}
	if at != 0 {
		l.Ticks = append(l.Ticks, at)
	}
	return err
}

// Running lists the lives that have noted within so long that they run.
func Running(folder string, within time.Duration) ([]*Life, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.life"))
	if err != nil {
		return nil, fmt.Errorf("list ledger: %w", err)
	}
	var lives []*Life
	for _, file := range files {
		// The wall clock only spares reading files of old lives.
		if info, err := os.Stat(file); err != nil || time.Since(info.ModTime()) > within+time.Minute {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read ledger: %w", err)
		}
		l, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("read ledger %s: %w", file, err)
		}
		if l != nil && l.Gone == 0 && l.Exit == 0 && Now()-l.Last() <= int64(within) {
			l.File = filepath.Base(file)
			lives = append(lives, l)
		}
	}
	return lives, nil
}
