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

// errLate says that F has passed before the program was started.
var errLate = errors.New("the fence was not confirmed in time for the start")

// start makes the control group, starts the program, and sees to it that word is
// left. Nothing here waits for a disk once the program runs (law L7).
func (g *guard) start(ctx context.Context) error {
	spec := g.spec
	name, err := groupName(spec.Folder)
	if err != nil {
		return err
	}
	group, degraded := newGroup(name, spec.Limits)
	late := func() bool { return g.watch.silent(g.clock()) }
	f := &first{forker: proc.NewForker(proc.NewScanner()), degraded: degraded, late: late, what: proc.Spec{
		Mark: spec.Mark, Path: spec.Path, Args: spec.Args, Dir: spec.Dir, Env: spec.Env, Limits: spec.Limits,
		Output: io.MultiWriter(g.tail, g.log), // the tail waits for no disk
		PTY:    spec.PTY, Cgroup: group, Reap: true,
		FreezeLimit: min(max(spec.TTL/8, 100*time.Millisecond), 5*time.Second),
	}}
	if c := spec.Credential; c != nil {
		f.what.Credential = &syscall.Credential{Uid: c.UID, Gid: c.GID, Groups: c.Groups}
	}
	f.forker.Confine = !spec.Sudo && spec.owner() != 0 // an agent of root's has every right anyway
	go f.forker.Run(ctx)
	switch spec.Kind {
	case "exec":
		g.tree, err = f.exec()
	case "tmux":
		g.tree, err = f.terminal(spec.Folder)
	default:
		err = fmt.Errorf("kind %q is unknown to this version; use exec or tmux", spec.Kind)
	}
	if err != nil {
		_ = f.what.Cgroup.Remove()
		return err
	}
	executed := time.Now()
	g.group, g.seen = f.what.Cgroup, g.awake()
	if f.pane != nil {
		g.door.mu.Lock()
		g.door.terminal = f.pane
		g.door.mu.Unlock()
	}
	started := Started{
		Ready: g.ready, Executed: executed,
		Version: Version, PID: g.tree.PID(), PIDStart: startTime(g.tree.PID()), Shim: os.Getpid(),
		ShimStart: startTime(os.Getpid()), Boot: bootID(), Degraded: strings.Join(f.degraded, "; "),
		Mark: spec.Mark, Groups: g.group.Folders(), Socket: g.socket(),
	}
	g.recorded, g.said = make(chan error, 1), make(chan struct{})
	go func() {
		defer close(g.said)
		g.recorded <- writeRecord(spec.Folder, StartedFile, started, false)
		say(ready{Started: &started})
	}()
	return nil
}

// first is the start of a life: what to start, and what had to be left out.
type first struct {
	forker   *proc.Forker
	what     proc.Spec
	degraded []string
	late     func() bool   // the program must not run any more
	pane     *tmux.Session // nil: none
}

// fork starts the program unless it is too late. All that came before may have taken
// any time: the switch is read at the last moment.
func (f *first) fork() (*proc.Tree, error) {
	if f.late() {
		return nil, errLate
	}
	return f.forker.Start(f.what)
}

// launch is fork for the programs of a terminal.
func (f *first) launch(cmd *exec.Cmd) error {
	if f.late() {
		return errLate
	}
	return f.forker.Launch(f.what, cmd)
}

// exec starts the program as a child of this process.
func (f *first) exec() (*proc.Tree, error) {
	tree, err := f.fork()
	if err == nil || f.what.Cgroup == nil || errors.Is(err, errLate) {
		return tree, err
	}
	// Whatever refused: without the group it must do, or it is not the group.
	refused := err
	f.ungroup()
	if tree, err = f.fork(); err != nil {
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
// terminal where there is none.
func (f *first) terminal(folder string) (*proc.Tree, error) {
	path, err := tmux.Find()
	var session *tmux.Session
	if err == nil {
		session, err = f.session(path, folder)
		if refused := err; errors.Is(err, tmux.ErrNoTmux) && f.what.Cgroup != nil {
			// As in exec: perhaps it is the group.
			f.ungroup()
			if session, err = f.session(path, folder); err == nil {
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
		return nil, err
	}
	f.pane = session
	return tree, nil
}

func (f *first) session(path, folder string) (*tmux.Session, error) {
	return f.open(tmux.Config{
		Tmux: path, Folder: folder, Path: f.what.Path, Args: f.what.Args, Dir: f.what.Dir,
		Env: f.what.Mark.In(f.what.Env), Credential: f.what.Credential,
		Output: f.what.Output, Start: f.launch,
	})
}

// open waits for the session, and watches the switch meanwhile: nothing else does
// yet.
func (f *first) open(config tmux.Config) (session *tmux.Session, err error) {
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
			if f.late() {
				f.clear()
			}
		}
	}
}

// clear kills whatever has been started.
func (f *first) clear() { proc.NewScanner().Bury(f.what.Mark, nil, func() {}) }
