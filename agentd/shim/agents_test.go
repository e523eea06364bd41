//go:build linux

package shim

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// L7: the socket of the life may be flooded and agentd away: the switch does not wait for that.
func TestL7FreezeBesideAFloodedSocket(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.Agentd = r.folder + "/nobody"
	s, a, _ := r.start(spec)
	socket := s.Started().Socket
	for range 64 {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	r.advance(50 * time.Minute)
	until(t, "freeze", s.Frozen)
	until(t, "frozen agent", func() bool { return frozen(s, a.pid) })
	s.Acknowledge(r.now())
	a.tell("exit 0")
	if exit := wait(t, s); exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of a life that is over: %v", err)
	}
}

// A shim that was killed leaves a socket, which goes with the burial of the life.
func TestSocketOfAKilledShimIsSwept(t *testing.T) {
	r := newRig(t)
	spec := r.spec("polite")
	spec.Agentd = r.folder + "/nobody"
	s, _, _ := r.start(spec)
	socket := s.Started().Socket
	if _, err := os.Stat(socket); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.Started().Shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, s); !exit.Vanished {
		t.Errorf("exit %+v", exit)
	}
	if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket of a killed shim: %v", err)
	}
}
