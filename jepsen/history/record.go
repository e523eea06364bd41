package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"vigil/cmd/vigil/bench/ledger"
)

// Names of the files of a run.
const (
	runFile    = "run.json"
	opsFile    = "history.jsonl"
	faultsFile = "faults.jsonl"
	looksFile  = "looks.jsonl"
	eventsFile = "events.jsonl"
)

// Now is the time as a run records it: CLOCK_BOOTTIME in nanoseconds.
func Now() int64 { return ledger.Now() }

// Recorder writes the record of a run while it goes on. It may be used by any number
// of goroutines. Lines are buffered: they are on disk when Close has returned. The
// first error of a write is kept and given by Close; what is recorded after it in the
// same file is dropped.
type Recorder struct {
	ops, faults, looks, events *lines
}

// Create begins a record in a folder, which is made when it is missing. It fails when
// the folder holds a record already.
func Create(folder string) (*Recorder, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("make folder of the record: %w", err)
	}
	r := &Recorder{}
	for _, f := range []struct {
		name string
		to   **lines
	}{{opsFile, &r.ops}, {faultsFile, &r.faults}, {looksFile, &r.looks}, {eventsFile, &r.events}} {
		file, err := os.OpenFile(filepath.Join(folder, f.name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("begin record: %w", err), r.Close())
		}
		*f.to = &lines{file: file, buffer: bufio.NewWriterSize(file, 64<<10)}
	}
	return r, nil
}

// Op records a call that has returned.
func (r *Recorder) Op(op Op) { r.ops.add(op) }

// Fault records a fault that was undone.
func (r *Recorder) Fault(f Fault) { r.faults.add(f) }

// Look records an agent as it was shown.
func (r *Recorder) Look(l Look) { r.looks.add(l) }

// Event records an event as it came.
func (r *Recorder) Event(e Event) { r.events.add(e) }

// Flush hands what was recorded so far to the kernel, for whoever reads along.
func (r *Recorder) Flush() error {
	var errs []error
	for _, l := range []*lines{r.ops, r.faults, r.looks, r.events} {
		errs = append(errs, l.flush())
	}
	return errors.Join(errs...)
}

// Close brings everything to the disk. Nothing may be recorded after it.
func (r *Recorder) Close() error {
	var errs []error
	for _, l := range []*lines{r.ops, r.faults, r.looks, r.events} {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	return errors.Join(errs...)
}

// WriteRun says in the folder of a record what was run.
func WriteRun(folder string, run Run) error {
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the run: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, runFile), append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the run: %w", err)
	}
	return nil
}

// lines is a file of JSON values, one a line.
type lines struct {
	mu     sync.Mutex
	file   *os.File
	buffer *bufio.Writer
	err    error
}

func (l *lines) add(v any) {
	text, err := json.Marshal(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && err == nil {
		_, err = l.buffer.Write(append(text, '\n'))
	}
	if l.err == nil && err != nil {
		l.err = fmt.Errorf("record in %s: %w", l.file.Name(), err)
	}
}

func (l *lines) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.flushed(), l.file.Close())
}

func (l *lines) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flushed()
}

// flushed empties the buffer; the caller holds mu.
func (l *lines) flushed() error {
	if l.err == nil {
		l.err = l.buffer.Flush()
	}
	return l.err
}
