//go:build linux

package stand

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a machine that runs `vigil server`.
type Server struct {
	*Machine
	Process *Process // the newest; nil: it was never started
	Program string   // what runs from the next start on; empty: the program under test
	Data    string   // its data directory

	index   int
	joins   bool // it founds no cluster, but waits to be added to one
	entered bool // it has an identity
}

// server makes the server with that number, from 0 on, switched off.
func (s *Stand) server(i int) *Server {
	m := s.machine(fmt.Sprintf("s%d", i+1), 11+i)
	return &Server{Machine: m, Program: s.config.ServerProgram, Data: s.path(m.Name, "data"), index: i}
}

// MachinesOf are the machines of servers.
func MachinesOf(servers ...*Server) []*Machine {
	var list []*Machine
	for _, sv := range servers {
		list = append(list, sv.Machine)
	}
	return list
}

// port is where the driver listens for what goes to a door of the server.
func (sv *Server) port(d Door) string {
	if d == Raft {
		return strconv.Itoa(raftWire + sv.index)
	}
	return strconv.Itoa(wirePort + sv.index)
}

// Addr is where clients, hosts and other servers reach the server.
func (sv *Server) Addr() string { return driverIP + ":" + sv.port(API) }

// RaftAddr is where other servers reach its log: what it is added to a cluster with.
func (sv *Server) RaftAddr() string { return driverIP + ":" + sv.port(Raft) }

// APIAddr is where the server listens; only the driver uses it.
func (sv *Server) APIAddr() string { return fmt.Sprintf("%s:%d", sv.IP, apiPort) }

// Start starts the server, for the first time or again.
// One without an identity joins the cluster first, which needs servers that answer.
func (sv *Server) Start() (err error) {
	if err := errors.Join(sv.configure(), sv.enter()); err != nil {
		return err
	}
	sv.Process, err = sv.Machine.Start("server", sv.stand.program(sv.Program),
		[]string{"server", "--config", sv.file()}, nil)
	return err
}

// StartWith starts the server with that program, also from now on; empty: the program
// under test.
func (sv *Server) StartWith(program string) error {
	sv.Program = program
	return sv.Start()
}

func (sv *Server) configure() error {
	if err := os.WriteFile(sv.file(), []byte(sv.configuration()), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

func (sv *Server) file() string { return sv.stand.path(sv.Name, "server.yaml") }

func (sv *Server) configuration() string {
	s := sv.stand
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\ndata_dir: %q\naddr: %q\nadvertise_addr: %q\nraft_addr: %q\nraft_bind: "+
		"\"%s:%d\"\nlog_level: info\n",
		sv.Name, sv.Data, sv.APIAddr(), sv.Addr(), sv.RaftAddr(), sv.IP, raftPort)
	b.WriteString(s.gossip(sv.Machine))
	old := sv.Program != "" && sv.Program == s.config.ServerProgram
	if list := s.config.LogStores; len(list) > 0 {
		fmt.Fprintf(&b, "log_store: %s\n", list[sv.index%len(list)])
	}
	if every := s.config.BackupEvery; every > 0 {
		fmt.Fprintf(&b, "backup: {to: %q, every: %s}\n", s.path("backups"), every)
	}
	section(&b, "limits", s.config.Limits)
	section(&b, "timing", s.config.Timing)
	if s.config.Insecure {
		b.WriteString("insecure: true\n")
	}
	switch {
	case sv.joins: // the cluster has its settings
		return b.String()
	case old && s.config.Insecure:
		s.peers(&b)
	case sv.index > 0:
		fmt.Fprintf(&b, "join: [%q]\n", s.Servers[0].Addr())
		return b.String()
	case s.config.Insecure:
		b.WriteString("found: true\n")
	}
	section(&b, "settings", s.config.Settings)
	return b.String()
}

// peers found a cluster as builds did that know no identities: all servers together.
func (s *Stand) peers(b *strings.Builder) {
	fmt.Fprintf(b, "cluster: stand\nbootstrap_expect: %d\npeers:\n", len(s.Servers))
	for _, sv := range s.Servers {
		fmt.Fprintf(b, "  - {id: %s, raft_addr: %q, api_addr: %q}\n", sv.Name, sv.RaftAddr(), sv.Addr())
	}
}

func section(b *strings.Builder, name string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", name)
	for _, key := range sortedKeys(values) {
		fmt.Fprintf(b, "  %s: %s\n", key, strconv.Quote(values[key]))
	}
}

// program gives what to run when the program of a machine is not set.
func (s *Stand) program(own string) string {
	if own == "" {
		return s.config.Vigil
	}
	return own
}

// Up tells whether the server's process is there, also when it is stopped.
func (sv *Server) Up() bool {
	if sv.Process == nil {
		return false
	}
	select {
	case <-sv.Process.done:
		return false
	default:
		return true
	}
}

// Kill ends the server's process with SIGKILL and returns when it is gone.
func (sv *Server) Kill() error {
	if sv.Process == nil {
		return nil
	}
	return sv.Process.Kill()
}

// Freeze stops the server's process until Thaw. One that is gone stays so.
func (sv *Server) Freeze() error { return sv.signal(syscall.SIGSTOP) }

// Thaw undoes Freeze.
func (sv *Server) Thaw() error { return sv.signal(syscall.SIGCONT) }

func (sv *Server) signal(sig syscall.Signal) error {
	if !sv.Up() {
		return nil
	}
	return sv.Process.signal(sig)
}

// Empty removes everything that the server has on its disk, while it does not run.
// From now on it founds no cluster when it starts, but waits to be added to one at
// its RaftAddr; the cluster must not count it as a member before.
func (sv *Server) Empty() error {
	if sv.Up() {
		return fmt.Errorf("empty %s: it runs", sv.Name)
	}
	sv.joins, sv.entered = true, false
	if d := sv.Disk(); d != nil {
		return d.Empty()
	}
	list, err := os.ReadDir(sv.Data) // the directory itself may be a mount
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		err = errors.Join(err, os.RemoveAll(filepath.Join(sv.Data, e.Name())))
	}
	if err != nil {
		return fmt.Errorf("empty %s: %w", sv.Name, err)
	}
	return nil
}

// signal signals the process, if it is still there.
func (p *Process) signal(sig syscall.Signal) error {
	err := p.Machine.Signal(p.PID, sig)
	if err != nil && (errors.Is(err, ErrDown) || strings.Contains(err.Error(), syscall.ESRCH.Error())) {
		return nil
	}
	return err
}

// Kill ends the process with SIGKILL and returns when it is gone.
func (p *Process) Kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s: process %d does not end after SIGKILL", p.Machine.Name, p.PID)
	}
}

// End asks the process to end with SIGTERM and waits; with SIGKILL after a limit, or
// when ctx ends. It tells whether the process ended by itself.
func (p *Process) End(ctx context.Context, limit time.Duration) (bool, error) {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return false, err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.done:
		return true, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return false, p.Kill()
}
