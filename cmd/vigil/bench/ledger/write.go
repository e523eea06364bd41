package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TickEvery is how often a life notes that it runs.
const TickEvery = 50 * 1e6 // ns

// Writer writes the file of one life. It may be used by several goroutines: a
// record is one write to a file that is opened for appending.
type Writer struct{ file *os.File }

// Create begins the file of a life in a folder. Process number and time keep apart
// two processes that claim to be the same life; numbers repeat after a reboot.
func Create(folder, agent string, incarnation uint64, host string, pid int) (*Writer, error) {
	name := fmt.Sprintf("%s-%d-%s-%d-%d.life", strings.ReplaceAll(agent, "/", "%"), incarnation, host, pid, Now())
	// Agents may run as other users than the driver that reads this.
	f, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	w := &Writer{f}
	if err := w.line("life %s %d %s %d", agent, incarnation, host, pid); err != nil {
		return nil, err
	}
	return w, w.Note("start")
}

// Name is the name of the file in its folder.
func (w *Writer) Name() string { return filepath.Base(w.file.Name()) }

// Tick notes that the life runs.
func (w *Writer) Tick() error { return w.line("t %d", Now()) }

// Note notes start, term or exit.
func (w *Writer) Note(what string) error { return w.line("%s %d", what, Now()) }

// Said notes that the cluster acknowledged something. sent is when the call began.
func (w *Writer) Said(sent int64, what string, task uint64, attempt uint32) error {
	return w.line("said %d %d %s %d %d", sent, Now(), what, task, attempt)
}

func (w *Writer) line(format string, args ...any) error {
	if _, err := fmt.Fprintf(w.file, format+"\n", args...); err != nil {
		return fmt.Errorf("write ledger: %w", err)
	}
	return nil
}

// Gone notes for a life that its process is gone.
func Gone(folder, name string) error {
	f, err := os.OpenFile(filepath.Join(folder, filepath.Base(name)), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open ledger: %w", err)
	}
	defer f.Close()
	return (&Writer{f}).Note("gone")
}
