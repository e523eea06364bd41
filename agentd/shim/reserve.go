package shim

import (
	"net"
	"os"
	"syscall"
)

// blank is a shim that has no life yet.
type blank struct {
	process *os.Process
	words   *net.UnixConn // where it waits for one
	says    *os.File      // what it prints
}

// dismiss ends a shim that has no life. It returns when it is gone.
func (b *blank) dismiss() {
	b.words.Close()
	b.says.Close()
	_ = b.process.Kill() // it goes by itself, unless it hangs
	_, _ = b.process.Wait()
}

// Keep has shims ready before their lives are ordered, so that a start need not wait for a program to be loaded:
// as many as least, soon after it returns, and no more than most. A shim in reserve knows nothing, holds nothing
// and runs nothing; it ends when this process does.
func (l *Launcher) Keep(least, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.least = least
	for len(l.ready) > most {
		last := len(l.ready) - 1
		l.work.Go(l.ready[last].dismiss)
		l.ready = l.ready[:last]
	}
	if len(l.ready) < least && !l.filling {
		l.filling = true
		l.work.Go(l.fill)
	}
}

// fill starts shims until there are enough, or one cannot be started: the next start says why.
func (l *Launcher) fill() {
	for more := true; more; {
		b, err := l.fork()
		l.mu.Lock()
		if err == nil {
			l.ready = append(l.ready, b)
		}
		more = err == nil && len(l.ready) < l.least
		l.filling = more
		l.mu.Unlock()
	}
}

// Close ends the shims that have no life. Shims that hold one go on. Nothing may be started any more.
func (l *Launcher) Close() {
	l.mu.Lock()
	l.closed, l.least = true, 0
	l.mu.Unlock()
	l.work.Wait()
	for _, b := range l.ready {
		b.dismiss()
	}
	l.ready = nil
}

// next gives a shim without a life, a new one when there is none in reserve.
func (l *Launcher) next() (b *blank, fresh bool, err error) {
	l.mu.Lock()
	if len(l.ready) > 0 {
		b, l.ready = l.ready[0], l.ready[1:]
	}
	l.mu.Unlock()
	if b != nil {
		return b, false, nil
	}
	b, err = l.fork()
	return b, true, err
}

// give hands a life over to a shim.
func (l *Launcher) give(lock, notes *os.File, spec []byte) (*blank, error) {
	for {
		b, fresh, err := l.next()
		if err != nil {
			return nil, err
		}
		if err = handOver(b.words, lock, notes, spec); err == nil {
			return b, nil
		}
		b.dismiss() // it was killed while it waited, for want of memory for instance
		if fresh {
			return nil, err
		}
	}
}

// fork starts a shim that waits for a life.
func (l *Launcher) fork() (*blank, error) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	says, prints, err := os.Pipe()
	if err == nil {
		defer prints.Close()
		b := &blank{words: ours, says: says}
		b.process, err = os.StartProcess(l.Command[0], l.Command, &os.ProcAttr{
			Dir: "/", // until it has a life folder to be in
			// Nothing of ours: above all no mark of a life that we ourselves may be part of.
			Env:   []string{"GOMAXPROCS=2"},
			Files: []*os.File{theirs, prints, null},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
		if err == nil {
			return b, nil
		}
		says.Close()
	}
	ours.Close()
	return nil, err
}
