package agentd

import (
	"context"
	"os"
	"time"

	"vigil/agentd/proc"
	"vigil/agentd/shim"
)

// process is the shim of one life, or what is left of one.
type process interface {
	Started() shim.Started
	// Acknowledge passes on when an acknowledged fence beat was sent. It never blocks.
	Acknowledge(sent time.Duration)
	// Stop sends SIGTERM and, after grace, SIGKILL; 0 kills at once. It never blocks.
	Stop(grace time.Duration, reason string)
	Frozen() bool
	// Terminal types and looks; it takes shim.TerminalLimit at most.
	Terminal(ctx context.Context, r shim.TerminalRequest) (screen string, err error)
	// Wait blocks until nothing of the tree is left. It calls stuck once when
	// something outlives SIGKILL.
	Wait(stuck func(reason string)) shim.Exit
}

// launcher starts shims and finds those of an earlier daemon.
type launcher interface {
	// Start returns once the program has been executed; after an error nothing runs.
	// It takes the lock over.
	Start(spec shim.Spec, lock *os.File) (process, error)
	// Adopt returns shim.ErrGone when the lock of the folder is free.
	Adopt(folder string) (process, error)
	// Bury gives the end of a life whose shim is gone; it kills what is left of it.
	Bury(folder string, mark proc.Mark, stuck func(reason string)) shim.Exit
	// Keep has shims ready for Start: soon as many as least, and no more than most. It does not block.
	Keep(least, most int)
	// Close ends what is ready and has no life.
	Close()
}

// shims is the launcher of this daemon.
type shims struct{ *shim.Launcher }

func (s shims) Start(spec shim.Spec, lock *os.File) (process, error) {
	p, err := s.Launcher.Start(spec, lock)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (shims) Adopt(folder string) (process, error) {
	p, err := shim.Adopt(folder)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (shims) Bury(folder string, mark proc.Mark, stuck func(reason string)) shim.Exit {
	return shim.Bury(folder, mark, stuck)
}
