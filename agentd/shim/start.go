package shim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"vigil/agentd/proc"
	"vigil/agentd/tmux"
)

// newGroup is a variable so that tests see hosts without control groups.
var newGroup = proc.NewCgroup

// start makes the control group, starts the program, and leaves word.
func (g *guard) start(ctx context.Context) error {
	spec := g.spec
	name, err := groupName(spec.Folder)
	if err != nil {
		return err
	}
	group, degraded := newGroup(name, spec.Limits)
	f := &first{forker: proc.NewForker(proc.NewScanner()), degraded: degraded, what: proc.Spec{
		Mark: spec.Mark, Path: spec.Path, Args: spec.Args, Dir: spec.Dir, Env: spec.Env, Limits: spec.Limits,
		Output: io.MultiWriter(g.log, g.tail), PTY: spec.PTY, Cgroup: group, Reap: true,
		FreezeLimit: min(max(spec.TTL/8, 100*time.Millisecond), 5*time.Second),
	}}
	if c := spec.Credential; c != nil {
		f.what.Credential = &syscall.Credential{Uid: c.UID, Gid: c.GID, Groups: c.Groups}
	}
	go f.forker.Run(ctx)
	switch spec.Kind {
	case "exec":
		g.tree, err = f.exec()
	case "tmux":
		g.tree, err = f.terminal(spec.Folder, func() bool { return g.watch.silent(g.clock()) })
	default:
		err = fmt.Errorf("kind %q is unknown to this version; use exec or tmux", spec.Kind)
	}
	if err != nil {
		_ = f.what.Cgroup.Remove()
		return err
	}
	g.group, g.began = f.what.Cgroup, g.clock()
	started := Started{
		PID: g.tree.PID(), PIDStart: startTime(g.tree.PID()), Shim: os.Getpid(), ShimStart: startTime(os.Getpid()),
		Boot: bootID(), Degraded: strings.Join(f.degraded, "; "), Mark: spec.Mark, Groups: g.group.Folders(),
	}
	if err := writeRecord(spec.Folder, StartedFile, started, false); err != nil {
		// A later daemon could not find the agent: it must not live on.
		g.end(ending{reason: err.Error()}, 0)
	}
	say(ready{Started: &started})
	return nil
}

// first is the start of a life: what to start, and what had to be left out.
type first struct {
	forker   *proc.Forker
	what     proc.Spec
	degraded []string
}

// exec starts the program as a child of this process.
func (f *first) exec() (*proc.Tree, error) {
	tree, err := f.forker.Start(f.what)
	if err == nil || f.what.Cgroup == nil {
		return tree, err
	}
	// Whatever refused: without the group it must do, or it is not the group.
	refused := err
	f.ungroup()
	if tree, err = f.forker.Start(f.what); err != nil {
		return nil, err
	}
	f.degraded = append(f.degraded, "no control group of its own ("+refused.Error()+")")
	return tree, nil
}

func (f *first) ungroup() {
	_ = f.what.Cgroup.Remove()
	f.what.Cgroup = nil
}

// terminal starts the program in a tmux of its own, and as a child with a plain
// terminal where there is none. late tells that the program must not run any more.
func (f *first) terminal(folder string, late func() bool) (*proc.Tree, error) {
	path, err := tmux.Find()
	var session *tmux.Session
	if err == nil {
		session, err = f.session(path, folder, late)
		if refused := err; errors.Is(err, tmux.ErrNoTmux) && f.what.Cgroup != nil {
			// As in exec: perhaps it is the group.
			f.ungroup()
			if session, err = f.session(path, folder, late); err == nil {
				f.degraded = append(f.degraded, "no control group of its own ("+refused.Error()+")")
			}
		}
	}
	if errors.Is(err, tmux.ErrNoTmux) {
		f.degraded = append(f.degraded, "no tmux session: "+err.Error())
		f.what.PTY = true
		return f.exec()
	}
	if err != nil {
		return nil, err
	}
	tree, err := f.forker.Hold(f.what, session.PID(), session.Server(), func() proc.Exit {
		exit := session.Wait()
		return proc.Exit{Code: exit.Code, Signal: exit.Signal}
	})
	if err != nil {
		f.clear()
		session.Wait()
	}
	return tree, err
}

func (f *first) session(path, folder string, late func() bool) (*tmux.Session, error) {
	return f.open(tmux.Config{
		Tmux: path, Folder: folder, Path: f.what.Path, Args: f.what.Args, Dir: f.what.Dir,
		Env: append(append([]string{}, f.what.Env...), f.what.Mark.Env()...), Credential: f.what.Credential,
		Output: f.what.Output, Start: func(cmd *exec.Cmd) error { return f.forker.Launch(f.what, cmd) },
	}, late)
}

// open waits for the session, and watches the switch meanwhile: nothing else does
// yet.
func (f *first) open(config tmux.Config, late func() bool) (session *tmux.Session, err error) {
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		session, err = tmux.Open(config)
	}()
	for {
		timer := time.NewTimer(nap)
		select {
		case <-opened:
			timer.Stop()
			if err != nil {
				f.clear()
			}
			return session, err
		case <-timer.C:
			if late() {
				f.clear()
			}
		}
	}
}

// clear kills whatever has been started.
func (f *first) clear() { proc.NewScanner().Bury(f.what.Mark, nil, func() {}) }
