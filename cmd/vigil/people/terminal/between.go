//go:build unix

package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	tty "golang.org/x/term"

	"vigil/agentd/proc"
	"vigil/cmd/vigil/term"
)

// lastDrawing is how long what is drawn at the end of an attachment is waited for.
const lastDrawing = 200 * time.Millisecond

// between runs a program on a terminal of its own and copies between that and ours. Programs
// that speak to a tmux server hand their terminal over to it, and that one belongs to the
// agent: it must not get ours.
func between(cmd *exec.Cmd, in, out *os.File) error {
	uid, start := uint32(os.Geteuid()), cmd.Start
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	} else if c := cmd.SysProcAttr.Credential; c != nil {
		// The agent may do with its own account's processes what it likes, with this one too.
		uid, start = c.Uid, func() error { return proc.Confined(cmd.Start) }
	}
	master, slave, err := proc.OpenTerminal(uid)
	if err != nil {
		return err
	}
	defer master.Close()
	defer slave.Close()
	resize := func() {
		if columns, rows, err := tty.GetSize(int(out.Fd())); err == nil {
			_ = proc.ResizeTerminal(master, rows, columns) // then it draws for another size
		}
	}
	resize()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true // of its stdin
	state, err := tty.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("prepare this terminal: %w", err)
	}
	defer func() {
		_, _ = io.WriteString(out, term.Restored())
		_ = tty.Restore(int(in.Fd()), state) // nobody is left to tell
	}()
	if err := start(); err != nil {
		return err
	}
	slave.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	defer signal.Stop(sizes)
	go func() {
		for {
			select {
			case <-sizes:
				resize()
			case <-ctx.Done():
				return
			}
		}
	}()
	// It waits for a key when all is over: the end of this process ends it.
	var left atomic.Bool
	go func() {
		if typed(master, in) {
			left.Store(true)
			_ = cmd.Process.Kill()
		}
	}()
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		show(out, master)
	}()
	err = cmd.Wait()
	// Whoever has got the slave may keep it open for ever.
	_ = master.SetReadDeadline(time.Now().Add(lastDrawing))
	<-drawn
	if left.Load() {
		return nil
	}
	return err
}

// typed copies what is typed until it cannot be written any more, or gives true when the
// person leaves.
func typed(to io.Writer, from io.Reader) bool {
	buf := make([]byte, 4<<10)
	for {
		n, err := from.Read(buf)
		keys, _, left := bytes.Cut(buf[:n], []byte{leave})
		if len(keys) > 0 {
			if _, err := to.Write(keys); err != nil {
				return false
			}
		}
		if left || err != nil {
			return left
		}
	}
}

// show copies what is drawn until the other side is gone or the deadline has passed.
func show(to io.Writer, from *os.File) {
	var filter term.Drawing
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if clean := filter.Pass(buf[:n]); len(clean) > 0 {
			if _, err := io.Copy(to, bytes.NewReader(clean)); err != nil {
				return
			}
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
