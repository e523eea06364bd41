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
	// retries bounds how often a look at all names that are moving meanwhile is
	// repeated.
	retries = 100
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
// meanwhile by another process is met twice, never missed: names only get older. As
// long as the newest one keeps its name the others can have moved by one at most, so
// that their order is right.
func (l *Log) files() ([]*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := 0; ; n++ {
		files, still, err := l.openAll()
		if still || err != nil || n == retries {
			return files, err
		}
		for _, f := range files {
			f.Close()
		}
	}
}

// openAll is one attempt of files; still tells that the order is right.
func (l *Log) openAll() (files []*os.File, still bool, err error) {
	first := 0
	for i := 0; i <= l.config.Keep; i++ {
		f, err := openIf(l.older(i))
		if err != nil {
			for _, f := range files {
				f.Close()
			}
			return nil, false, err
		}
		switch n := len(files); {
		case f == nil:
		case n > 0 && sameFile(files[n-1], f):
			f.Close()
		default:
			if n == 0 {
				first = i
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, true, nil
	}
	info, err := files[0].Stat()
	return files, err == nil && l.position(info) == first, nil
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
			// Nothing was there to begin with, so all of it is new.
			f, err := r.log.first(ctx)
			if f == nil {
				return err
			}
			r.file = f
		}
		// Whether there is a newer file is asked before the rest of this one is read:
		// nothing is written to it afterwards.
		next, skipped, err := r.next(ctx)
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
//
// The names move while they are looked at: a writer of this process is held up for a
// few microseconds, one of another process is not. But a file's name only ever gets
// older, and files keep their order. So when the open file has the same name before
// and after, all that came after it had younger names throughout; and when the names
// between it and the one that was opened are empty afterwards too, none was passed
// over: it could only have moved to one of these.
func (r *reader) next(ctx context.Context) (f *os.File, skipped bool, err error) {
	info, err := r.file.Stat()
	if err != nil {
		return nil, false, fmt.Errorf("read log: %w", err)
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for ctx.Err() == nil {
		i := r.log.position(info)
		if i < 0 {
			f, err := r.log.oldest(ctx)
			return f, true, err
		}
		if i == 0 {
			return nil, false, nil
		}
		f, j, err := r.log.firstBelow(i)
		if err != nil {
			return nil, false, err
		}
		if r.log.empty(j+1, i-1, nil) && r.log.position(info) == i {
			return f, false, nil // nil: rotated, and nothing written since
		}
		closeFile(f)
	}
	return nil, false, context.Cause(ctx)
}

// firstBelow opens the file with the oldest name that is younger than i, and tells
// which that is; nil and -1: there is none.
func (l *Log) firstBelow(i int) (*os.File, int, error) {
	for j := i - 1; j >= 0; j-- {
		if f, err := openIf(l.older(j)); f != nil || err != nil {
			return f, j, err
		}
	}
	return nil, -1, nil
}

// empty tells whether there are no files with the names from to to, but perhaps the
// one of info. It looks at young names first, so that none escapes to an older one.
func (l *Log) empty(from, to int, info os.FileInfo) bool {
	for i := from; i <= to; i++ {
		other, err := os.Stat(l.older(i))
		if err == nil && (info == nil || !os.SameFile(info, other)) {
			return false
		}
	}
	return true
}

// oldest opens the oldest file that is left; nil: there is none.
func (l *Log) oldest(ctx context.Context) (*os.File, error) {
	for ctx.Err() == nil {
		f, j, err := l.firstBelow(l.config.Keep + 1)
		if f == nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			closeFile(f)
			return nil, fmt.Errorf("read log: %w", err)
		}
		if l.empty(j+1, l.config.Keep, info) { // else one was moving to an older name
			return f, nil
		}
		closeFile(f)
	}
	return nil, context.Cause(ctx)
}

// first is oldest for who does not hold the lock.
func (l *Log) first(ctx context.Context) (*os.File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.oldest(ctx)
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
