package link

import (
	"io"
	"net"
	"testing"
	"time"
)

// The kernel measures a TCP connection once something was acknowledged; of others nothing is known.
func TestTheKernelMeasuresTheLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = io.Copy(c, c) // ends with the other end
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if trip := lineTrip(c); trip <= 0 || trip > time.Minute {
		t.Errorf("the way there and back takes %s", trip)
	}
	here, there := net.Pipe()
	defer here.Close()
	defer there.Close()
	if trip := lineTrip(here); trip != 0 {
		t.Errorf("of a pipe it takes %s", trip)
	}
}
