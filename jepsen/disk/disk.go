//go:build linux

package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a serving process may take to answer or to end. It answers
// within milliseconds unless the machine is overloaded.
const patience = 60 * time.Second

// Config says where a disk is.
type Config struct {
	// Program is started with Args, the folder of the store and the mount point; its
	// main calls Serve with the last two.
	Program string
	Args    []string
	Env     []string // beside that of this process
	Store   string   // folder for the data; made when it is not there
	Mount   string   // folder where programs see it; made when it is not there
	Log     string   // file that gets what the serving process has to say
}

// Disk is a disk that is mounted in the namespace of this process. Its methods may be
// called from several goroutines.
type Disk struct {
	config Config
	mu     sync.Mutex // one question at a time
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	words  *json.Decoder
	closed bool
}

// Open starts the serving process and mounts the disk. What is in the store is on it.
func Open(c Config) (_ *Disk, err error) {
	for _, dir := range []string{c.Store, c.Mount} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("make folder of a disk: %w", err)
		}
	}
	cmd := exec.Command(c.Program, append(append([]string{}, c.Args...), c.Store, c.Mount)...)
	cmd.Env = append(os.Environ(), c.Env...)
	// A signal of the terminal is for the driver.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of a disk: %w", err)
	}
	defer log.Close()
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a disk: %w", err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a disk: %w", err), in.Close())
	}
	cmd.Stdout = theirs
	d := &Disk{config: c, cmd: cmd, in: in, out: out, words: json.NewDecoder(out)}
	err = cmd.Start()
	_ = theirs.Close() // theirs now
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a disk: %w", err), in.Close(), out.Close())
	}
	if _, err := d.answer(); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Mount is where programs see the disk.
func (d *Disk) Mount() string { return d.config.Mount }

// Store is the folder that holds its data. Programs must not use it while the disk is
// open; to read it is fine.
func (d *Disk) Store() string { return filepath.Join(d.config.Store, "files") }

// Set replaces the faults that are in force.
func (d *Disk) Set(f Faults) error {
	_, err := d.ask(ask{Set: &f})
	return err
}

// Lose forgets what is not durable, as a loss of power does. Nobody may use the disk
// meanwhile. Faults stay in force.
func (d *Disk) Lose(how Loss) (Lost, error) {
	w, err := d.ask(ask{Lose: &how})
	return w.Lost, err
}

// Flip turns a bit over, durably. A program that has the file open may not see it.
func (d *Disk) Flip(spot Spot) error {
	_, err := d.ask(ask{Flip: &spot})
	return err
}

// Empty removes everything, durably.
func (d *Disk) Empty() error {
	_, err := d.ask(ask{Empty: true})
	return err
}

// Stats tells what the disk has done.
func (d *Disk) Stats() (Stats, error) {
	w, err := d.ask(ask{Stats: true})
	return w.Stats, err
}

func (d *Disk) ask(a ask) (words, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return words{}, fmt.Errorf("disk at %s: %w", d.config.Mount, os.ErrClosed)
	}
	if err := json.NewEncoder(d.in).Encode(a); err != nil {
		return words{}, fmt.Errorf("disk at %s is gone: %w", d.config.Mount, err)
	}
	return d.answer()
}

func (d *Disk) answer() (w words, err error) {
	if err := d.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return w, fmt.Errorf("disk at %s: %w", d.config.Mount, err)
	}
	if err := d.words.Decode(&w); err != nil {
		return w, fmt.Errorf("disk at %s does not answer: %w", d.config.Mount, err)
	}
	if w.Error != "" {
		return w, fmt.Errorf("disk at %s: %s", d.config.Mount, w.Error)
	}
	return w, nil
}

// Close unmounts the disk and ends the serving process. The store stays.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	_ = d.in.Close() // it ends by that, or has ended
	overdue := time.AfterFunc(patience, func() { _ = d.cmd.Process.Kill() })
	err := d.cmd.Wait()
	overdue.Stop()
	_ = d.out.Close() // only read from
	if err == nil {
		return nil
	}
	// It could not clean up.
	_ = unix.Unmount(d.config.Mount, unix.MNT_DETACH) // fails when nothing is mounted
	return fmt.Errorf("end of the disk at %s: %w", d.config.Mount, err)
}
