package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vigil/agentd/local"
	"vigil/agentd/proc"
)

const (
	// StartLimit is how long a new shim may take to start the program: a machine
	// that needs longer is of no use to an agent.
	StartLimit = time.Minute
	// adoptLimit is how long Adopt waits for a shim that is just starting.
	adoptLimit = 10 * time.Second
	maxReady   = 64 << 10
)

// ErrGone says that no shim of the life folder runs.
var ErrGone = errors.New("shim is gone")

// Launcher starts shims. It is safe for concurrent use; call Close at the end.
type Launcher struct {
	// Command is the program and the arguments that run Serve, such as
	// /proc/self/exe shim. The program is absolute.
	Command []string

	work sync.WaitGroup // shims that are made ready or dismissed

	mu      sync.Mutex
	ready   []*blank // in reserve
	least   int      // as many should be
	filling bool     // one is being started
	closed  bool
}

// Start has a shim take over the life of spec, one in reserve or a new one, and returns once the agent's program
// has been executed. An error means that nothing of it runs, and says why. The shim has
// a session of its own and survives this process.
//
// lock is the open LockFile of spec.Folder, locked with flock. Start takes it over
// and closes it, whatever comes of it.
func (l *Launcher) Start(spec Spec, lock *os.File) (*Shim, error) {
	defer lock.Close() // the shim has it too
	spec.Version = Version
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	notes, err := os.OpenFile(filepath.Join(spec.Folder, NoteFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	b, err := l.give(lock, notes, text)
	notes.Close()
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	lock.Close()
	s, out := newShim(spec.Folder, Started{Mark: spec.Mark, Shim: b.process.Pid}, b.process), b.says
	_ = out.SetReadDeadline(time.Now().Add(StartLimit))
	line, err := bufio.NewReaderSize(out, maxReady).ReadSlice('\n')
	out.Close()
	var word ready
	if err == nil {
		err = json.Unmarshal(line, &word)
	}
	if err == nil && word.Started != nil {
		s.started = *word.Started
		go s.talk()
		return s, nil
	}
	// It refused, died or hangs: nothing of it must be left when we return.
	if word.Exit == nil {
		s.kill()
	}
	exit := s.Wait(func(string) {})
	reason := exit.Reason
	if exit.Vanished {
		reason = "the shim ended before it had started the program: " + exit.Reason
	}
	return nil, errors.New(reason)
}

// Adopt takes up the shim of a life folder that an earlier daemon started. It
// returns ErrGone when none runs any more: ask Bury what became of the life then. A
// shim that is just starting is waited for, for some seconds; any other error
// leaves it open whether the life runs: ask again.
func Adopt(folder string) (*Shim, error) {
	for deadline := time.Now().Add(adoptLimit); ; {
		held, err := locked(folder)
		if err != nil {
			return nil, fmt.Errorf("adopt shim: %w", err)
		}
		if !held {
			return nil, ErrGone
		}
		var started Started
		err = readRecord(folder, StartedFile, &started)
		if err == nil {
			s := newShim(folder, started, nil)
			go s.talk()
			return s, nil
		}
		if !errors.Is(err, os.ErrNotExist) || time.Now().After(deadline) {
			return nil, fmt.Errorf("adopt shim: its lock is held: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Bury gives the end of a life whose shim is gone: from its record, or by killing
// what carries its mark. It returns when nothing of the life is left, and calls
// stuck once when that takes longer than SIGKILL should. Call it only while the
// lock of the folder is free or held by the caller.
func Bury(folder string, mark proc.Mark, stuck func(reason string)) Exit {
	exit, err := readEnd(folder, true)
	if err == nil {
		return exit
	}
	var groups []string
	var started Started
	if readRecord(folder, StartedFile, &started) == nil {
		groups = started.Groups
	} else if name, err := groupName(folder); err == nil {
		groups = proc.CgroupFolders(name)
	}
	local.Sweep(started.Socket)
	told := false
	scans.Bury(mark, groups, func() {
		if !told {
			told = true
			stuck("a process of a life without a shim cannot be killed: it keeps its slot until it is gone")
		}
	})
	Forget(folder)
	exit = Exit{Code: -1, Signal: "killed", Vanished: true, Reason: "its shim was killed"}
	if word := note(folder); word != "" {
		exit.Reason = "its shim failed: " + word
	}
	if !errors.Is(err, os.ErrNotExist) {
		exit.Reason += " (" + err.Error() + ")"
	}
	return exit
}

// scans serves all lives of this process: looks at the list of processes are
// shared.
var scans = proc.NewScanner()
