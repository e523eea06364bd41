package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	// MaxLines is how many lines back a reader may begin.
	MaxLines = 10_000
	maxBack  = 4 << 20 // bytes back, whatever the number of lines
	chunk    = 32 << 10
	// recheck is how often a follower looks at the file without being told to: the
	// writer is mostly another process.
	recheck = 100 * time.Millisecond
	// retries bounds how often a look at names that are moving meanwhile is repeated.
	retries = 10
)

// ErrNoLog says that the agent has printed nothing on this host.
var ErrNoLog = errors.New("no output on this host yet")

// Read gives the last lines of the log to emit, in pieces of at most 32 KiB, and
// when follow is set goes on as it grows, across rotations, until ctx ends or
// emit fails. Pieces are only valid during the call. A follower that is overtaken
// by the rotation reads on at the oldest byte that is left, after a note.
func (l *Log) Read(ctx context.Context, lines int, follow bool, emit func([]byte) error) error {
	r := &reader{log: l, emit: emit, buf: make([]byte, chunk)}
	defer r.close()
	if err := r.seek(min(max(lines, 0), MaxLines)); err != nil && !(follow && errors.Is(err, ErrNoLog)) {
		return err
	}
	for {
		grown := l.changed()
		if err := r.drain(ctx); err != nil {
			return err
		}
		if !follow {
			return nil
		}
		timer := time.NewTimer(recheck)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-grown:
		case <-timer.C:
		}
		timer.Stop()
	}
}

type reader struct {
	log  *Log
	file *os.File // nil: nothing was there to open
	emit func([]byte) error
	buf  []byte
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// seek opens the file in which the last lines begin and stands at their start.
func (r *reader) seek(lines int) error {
	files, err := r.log.files()
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range files {
			if f != r.file {
				f.Close()
			}
		}
	}()
	if len(files) == 0 {
		return ErrNoLog
	}
	budget := int64(maxBack)
	for _, f := range files {
		at, missing, err := back(f, lines, budget)
		if err == nil {
			_, err = f.Seek(at, io.SeekStart)
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
		r.file = f
		if missing == 0 || at > 0 {
			return nil
		}
		if info, err := f.Stat(); err == nil {
			budget -= info.Size()
		}
		lines = missing
	}
	return nil
}

// files opens all files that there are, newest first. A file that is renamed
// meanwhile by another process is met twice, never missed: names only get older.
func (l *Log) files() ([]*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var files []*os.File
	for i := 0; i <= l.config.Keep; i++ {
		f, err := openIf(l.older(i))
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, err
		}
		if n := len(files); f != nil && n > 0 && sameFile(files[n-1], f) {
			f.Close()
		} else if f != nil {
			files = append(files, f)
		}
	}
	return files, nil
}

func sameFile(a, b *os.File) bool {
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// back finds where the last lines of f begin and how many are not in it.
func back(f *os.File, lines int, budget int64) (at int64, missing int, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	size := info.Size()
	if lines == 0 {
		return size, 0, nil
	}
	buf := make([]byte, chunk)
	floor := max(0, size-budget)
	for end := size; end > floor; {
		begin := max(floor, end-chunk)
		piece := buf[:end-begin]
		if _, err := f.ReadAt(piece, begin); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		for i := len(piece) - 1; i >= 0; i-- {
			if piece[i] != '\n' || begin+int64(i) == size-1 {
				continue
			}
			if lines--; lines == 0 {
				return begin + int64(i) + 1, 0, nil
			}
		}
		end = begin
	}
	if floor > 0 {
		return floor, 0, nil
	}
	// The beginning of the file begins a line too.
	if size > 0 {
		lines--
	}
	return 0, lines, nil
}

// drain emits everything up to the end of the newest file.
func (r *reader) drain(ctx context.Context) error {
	for {
		if r.file == nil {
			f, err := openIf(r.log.path)
			if f == nil {
				return err
			}
			r.file = f
		}
		// Whether there is a newer file is asked before the rest of this one is read:
		// nothing is written to it afterwards.
		next, skipped, err := r.next()
		if err != nil {
			return err
		}
		if err = r.rest(ctx); err == nil && skipped {
			err = r.emit([]byte("\n--- vigil: output was skipped here, it was rotated away\n"))
		}
		if err != nil {
			closeFile(next)
			return err
		}
		if next == nil {
			return nil
		}
		r.close()
		r.file = next
	}
}

func closeFile(f *os.File) {
	if f != nil {
		f.Close()
	}
}

// rest emits what is left of the open file.
func (r *reader) rest(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := r.file.Read(r.buf)
		if n > 0 {
			if err := r.emit(r.buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read log: %w", err)
		}
	}
	return context.Cause(ctx)
}

// next opens the file that follows the open one; nil when that is the current one.
// When the open one was rotated away, it is the oldest that is left.
func (r *reader) next() (f *os.File, skipped bool, err error) {
	info, err := r.file.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("read log: %w", err)
	}
	// The names move while they are looked at: a writer of this process is held up
	// for a few microseconds, one of another process is caught by looking again.
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for range retries {
		i := r.log.position(info)
		if i < 0 {
			break
		}
		if i == 0 {
			return nil, false, nil
		}
		var f *os.File // nil: rotated, and nothing written since
		for j := i - 1; j >= 0 && f == nil && err == nil; j-- {
			f, err = openIf(r.log.older(j)) // there is a gap in the row while it moves
		}
		if err != nil || r.log.position(info) == i {
			return f, false, err
		}
		closeFile(f)
	}
	for i := r.log.config.Keep; i >= 0; i-- {
		if f, err = openIf(r.log.older(i)); f != nil || err != nil {
			return f, true, err
		}
	}
	return nil, false, nil
}

// position gives which file this is by now, counted from the newest; -1: none, it
// was rotated away.
func (l *Log) position(info os.FileInfo) int {
	for i := 0; i <= l.config.Keep; i++ {
		other, err := os.Stat(l.older(i))
		if err == nil && os.SameFile(info, other) {
			return i
		}
	}
	return -1
}

// openIf gives nil when there is no such file.
func openIf(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return f, nil
}
