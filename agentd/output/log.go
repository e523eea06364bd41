package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// lookEvery is the time between two looks whether the current file still has its name: somebody may remove it, or
// rotate it in a way of their own.
const lookEvery = time.Second

// Log is the rotated output of one agent.
type Log struct {
	path   string
	config Config

	mu     sync.Mutex
	file   *os.File  // nil: not open
	looked time.Time // when it was seen under its name
	size   int64
	lost   int64 // bytes that the disk refused since it last took some
	middle bool  // the last byte was not the end of a line
	grown  chan struct{}
}

// Path is where the current file is.
func (l *Log) Path() string { return l.path }

// Write appends p. It never fails and never reports fewer bytes: output that the
// disk refuses is counted instead.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost > 0 && l.put([]byte(l.note(fmt.Sprintf("%d bytes of output were lost: the disk refused them", l.lost)))) {
		l.lost = 0
	}
	if l.lost > 0 || !l.put(p) {
		l.lost += int64(len(p))
	}
	return len(p), nil
}

// Note adds a line of the daemon's own, on a line of its own. It carries wall
// time, for people.
func (l *Log) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put([]byte(l.note(text)))
}

func (l *Log) note(text string) string {
	line := "--- vigil " + time.Now().UTC().Format("2006-01-02 15:04:05") + " " + text + "\n"
	if l.middle {
		return "\n" + line
	}
	return line
}

// put writes all of p to one file and tells readers.
func (l *Log) put(p []byte) bool {
	if len(p) == 0 {
		return true
	}
	if !l.ready(int64(len(p))) {
		return false
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	if n > 0 {
		l.middle = p[n-1] != '\n'
		close(l.grown)
		l.grown = make(chan struct{})
	}
	return err == nil
}

// ready opens the file, and rotates it when n more bytes would be too many.
func (l *Log) ready(n int64) bool {
	if l.file != nil && time.Since(l.looked) >= lookEvery && l.astray() {
		l.file.Close()
		l.file = nil
	}
	if l.file != nil && l.size > 0 && l.size+n > l.config.MaxBytes {
		l.rotate()
	}
	if l.file != nil {
		return true
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return false
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return false
	}
	l.file, l.size, l.looked = f, info.Size(), time.Now()
	return true
}

// astray tells whether nobody finds the open file under its name any more.
func (l *Log) astray() bool {
	l.looked = time.Now()
	there, err := os.Stat(l.path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist) // else it may be there
	}
	open, err := l.file.Stat()
	return err == nil && !os.SameFile(there, open)
}

func (l *Log) rotate() {
	l.file.Close()
	l.file, l.size = nil, 0
	os.Remove(l.older(l.config.Keep))
	for i := l.config.Keep; i > 0; i-- {
		// A gap in the row is no harm.
		_ = os.Rename(l.older(i-1), l.older(i))
	}
}

// older names the i-th file before the current one, which is number 0.
func (l *Log) older(i int) string {
	if i == 0 {
		return l.path
	}
	return l.path + "." + strconv.Itoa(i)
}

// changed gives a channel that is closed when more is written.
func (l *Log) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grown
}

func (l *Log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
