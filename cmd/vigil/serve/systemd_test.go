package serve

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

// The service manager hears that the process is ready only once it works, and at its end that it stops;
// children inherit no way to speak to the manager.
func TestServiceManagerHearsWhatIsSo(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "60000000")
	t.Setenv("WATCHDOG_PID", "")
	s := supervised(hclog.NewNullLogger())
	if s == nil || s.within != time.Minute || os.Getenv("NOTIFY_SOCKET") != "" || os.Getenv("WATCHDOG_USEC") != "" {
		t.Fatalf("supervised: %+v, NOTIFY_SOCKET=%q", s, os.Getenv("NOTIFY_SOCKET"))
	}
	hear := func() string {
		t.Helper()
		b := make([]byte, 100)
		_ = l.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := l.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.run(ctx, func(context.Context) error { close(asked); return nil })
	}()
	<-asked
	if got := hear(); got != "READY=1\nWATCHDOG=1" {
		t.Errorf("the first word is %q", got)
	}
	cancel()
	if got := hear(); got != "STOPPING=1" {
		t.Errorf("the last word is %q", got)
	}
	<-over
}

// A process that does not work is never called ready.
func TestServiceManagerHearsNothingOfWhatDoesNotWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &supervisor{socket: filepath.Join(t.TempDir(), "notify"), log: hclog.NewNullLogger()}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s.run(ctx, func(context.Context) error { cancel(); return errors.New("it hangs") })
	b := make([]byte, 100)
	_ = l.SetReadDeadline(time.Now().Add(time.Minute))
	if n, err := l.Read(b); err != nil || string(b[:n]) != "STOPPING=1" {
		t.Errorf("heard %q, %v, want the end only", b[:n], err)
	}
}

// A server that has entries to apply and applies none does not work; one that is idle or busy does.
func TestServerWorksWhileItApplies(t *testing.T) {
	p := &progress{}
	for i, tt := range []struct {
		committed, applied uint64
		works              bool
	}{{5, 5, true}, {5, 5, true}, {9, 6, true}, {12, 7, true}, {12, 7, false}, {12, 7, false}, {12, 12, true}} {
		p.read = func() (uint64, uint64) { return tt.committed, tt.applied }
		if err := p.check(); (err == nil) != tt.works {
			t.Errorf("look %d: %v, want works: %t", i, err, tt.works)
		}
	}
}
