package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// searchPath is where tmux is looked for, the same as for programs of runners.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// maxSocketPath is what fits into the address of a socket.
const maxSocketPath = 107

// Find gives the path of tmux on this host. The error is ErrNoTmux.
func Find() (string, error) {
	for _, dir := range filepath.SplitList(searchPath) {
		path := filepath.Join(dir, "tmux")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: it was not found in %s; install it", ErrMissing, searchPath)
}

// place is the folder of a session.
type place string

func placeIn(life string) place { return place(filepath.Join(life, "tmux")) }

func (p place) socket() string     { return filepath.Join(string(p), "sock") }
func (p place) script() string     { return filepath.Join(string(p), "conf") }
func (p place) outputFifo() string { return filepath.Join(string(p), "output") }
func (p place) statusFifo() string { return filepath.Join(string(p), "status") }

// command is a call of tmux for this session, which must be there already unless the
// call begins it.
func (p place) command(config Config, args ...string) *exec.Cmd {
	cmd := exec.Command(config.Tmux, append([]string{"-S", p.socket()}, args...)...)
	cmd.Dir = string(p)
	for _, v := range config.Env {
		// An agentd that somebody runs in tmux passes these on.
		if !strings.HasPrefix(v, "TMUX=") && !strings.HasPrefix(v, "TMUX_PANE=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, folderVariable+"="+string(p))
	return cmd
}

// prepare makes the folder anew with all that the server needs. Until the last line
// it belongs to this process alone, so nobody can put links into it.
func (s *Session) prepare(text string) error {
	p := s.place
	if n := len(p.socket()); n > maxSocketPath {
		return fmt.Errorf("%w: the path of its socket would have %d bytes, the system takes %d; choose "+
			"a shorter data directory",
			ErrNoTmux, n, maxSocketPath)
	}
	if _, err := os.Lstat(p.socket()); err == nil {
		// An earlier attempt of this life may have left its server.
		_, _ = s.tmux(nil, "kill-server") // usually there is none
	}
	if err := os.RemoveAll(string(p)); err != nil {
		return fmt.Errorf("clean up terminal: %w", err)
	}
	err := os.Mkdir(string(p), 0o700)
	if err == nil {
		err = os.WriteFile(p.script(), []byte(text), 0o600)
	}
	if err == nil {
		s.output, s.writer, err = openFifo(p.outputFifo())
	}
	var other *os.File
	if err == nil {
		s.status, other, err = openFifo(p.statusFifo())
	}
	if err == nil {
		// The status is read line by line and never comes to an end.
		s.status.Close()
		s.status = other
	}
	if c := s.config.Credential; err == nil && c != nil {
		for _, path := range []string{p.script(), p.outputFifo(), p.statusFifo(), string(p)} {
			err = errors.Join(err, os.Lchown(path, int(c.Uid), int(c.Gid)))
		}
	}
	if err != nil {
		return fmt.Errorf("prepare terminal: %w", err)
	}
	return nil
}

// openFifo makes a fifo and opens both ends; the second can be read too.
func openFifo(path string) (read, write *os.File, err error) {
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, fmt.Errorf("make %s: %w", path, err)
	}
	const flags = unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOFOLLOW
	r, err := unix.Open(path, unix.O_RDONLY|flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	w, err := unix.Open(path, unix.O_RDWR|flags, 0)
	if err != nil {
		unix.Close(r)
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	return os.NewFile(uintptr(r), path), os.NewFile(uintptr(w), path), nil
}

// Attach is the command that connects the caller's terminal with the session of a
// life folder. It runs as the agent's user, never with more rights: the server may
// tell it what to run. A client tells the server all of its environment, so it gets
// nothing but what a terminal needs: the rest is root's.
func Attach(tmux, life string, readOnly bool) (*exec.Cmd, error) {
	p := placeIn(life)
	info, err := os.Lstat(p.socket())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the agent has no terminal: its runner is not of kind tmux, or tmux could not be used")
	}
	if err != nil {
		return nil, fmt.Errorf("find the agent's terminal: %w", err)
	}
	args := []string{"-N", "-S", p.socket(), "attach-session", "-t", sessionName}
	if readOnly {
		args = append(args, "-r")
	}
	cmd := exec.Command(tmux, args...)
	cmd.Env = []string{"PATH=" + searchPath}
	for _, name := range []string{"TERM", "COLORTERM", "LANG", "LC_ALL", "LC_CTYPE"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}}
	}
	return cmd, nil
}
