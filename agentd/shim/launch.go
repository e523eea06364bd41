package shim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
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

// Launcher starts shims. It is safe for concurrent use.
type Launcher struct {
	// Command is the program and the arguments that run Serve, such as
	// /proc/self/exe shim. The program is absolute.
	Command []string
}

// Start starts a shim for the life of spec and returns once the agent's program
// has been executed. An error means that nothing of it runs, and says why. The shim has
// a session of its own and survives this process.
//
// lock is the open LockFile of spec.Folder, locked with flock. Start takes it over
// and closes it, whatever comes of it.
func (l Launcher) Start(spec Spec, lock *os.File) (*Shim, error) {
	defer lock.Close() // the shim has it too
	spec.Version = Version
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	process, in, out, err := l.fork(spec.Folder, lock)
	if err != nil {
		return nil, fmt.Errorf("start shim: %w", err)
	}
	lock.Close()
	s := newShim(spec.Folder, Started{Mark: spec.Mark, Shim: process.Pid}, process)
	go func() {
		_, _ = in.Write(text)
		in.Close()
	}()
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

// fork starts the program of the shim and gives the two ends of its streams.
func (l Launcher) fork(folder string, lock *os.File) (p *os.Process, in, out *os.File, err error) {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	inRead, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	theirs = append(theirs, inRead)
	out, outWrite, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, nil, nil, err
	}
	theirs = append(theirs, outWrite)
	notes, err := os.OpenFile(filepath.Join(folder, NoteFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err == nil {
		theirs = append(theirs, notes)
		p, err = os.StartProcess(l.Command[0], l.Command, &os.ProcAttr{
			Dir: folder,
			// Nothing of ours: above all no mark of a life that we ourselves may be part of.
			Env:   []string{"GOMAXPROCS=2"},
			Files: []*os.File{inRead, outWrite, notes, lock},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	}
	if err != nil {
		in.Close()
		out.Close()
		return nil, nil, nil, err
	}
	return p, in, out, nil
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
	var exit Exit
	err := readRecord(folder, ExitFile, &exit)
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
