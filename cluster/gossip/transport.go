package gossip

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"
)

// bindTries is how often another port is tried when any will do: it must be free
// for both TCP and UDP.
const bindTries = 10

// kept is a transport that outlives those who use it: the members of another cluster are met over the
// same sockets.
type kept struct{ memberlist.NodeAwareTransport }

// Shutdown implements memberlist.Transport.
func (kept) Shutdown() error { return nil }

// sockets are real ones, whose dials end with ctx.
type sockets struct {
	*memberlist.NetTransport
	ctx context.Context
}

// listen opens the sockets of a member.
func listen(ctx context.Context, bind string, logger *log.Logger) (memberlist.NodeAwareTransport, error) {
	addr, err := net.ResolveTCPAddr("tcp", bind)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w: give host:port", bind, err)
	}
	ip := addr.IP.String()
	if addr.IP == nil {
		ip = "0.0.0.0"
	}
	for try := 1; ; try++ {
		t, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{ip},
			BindPort: addr.Port, Logger: logger})
		if err == nil {
			return &sockets{t, ctx}, nil
		}
		if addr.Port != 0 || try == bindTries || !errors.Is(err, syscall.EADDRINUSE) && try > 1 {
			return nil, fmt.Errorf("listen on %s by UDP and TCP: %w: stop what uses the address, or give another",
				bind, err)
		}
	}
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (s *sockets) DialAddressTimeout(a memberlist.Address, limit time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: limit}
	conn, err := d.DialContext(s.ctx, "tcp", a.Addr)
	if err != nil {
		return nil, err
	}
	// An exchange that hangs ends with the member.
	stop := context.AfterFunc(s.ctx, func() { _ = conn.Close() })
	return &dialed{conn, stop}, nil
}

// DialTimeout implements memberlist.Transport.
func (s *sockets) DialTimeout(addr string, limit time.Duration) (net.Conn, error) {
	return s.DialAddressTimeout(memberlist.Address{Addr: addr}, limit)
}

type dialed struct {
	net.Conn
	stop func() bool
}

func (d *dialed) Close() error {
	d.stop()
	return d.Conn.Close()
}

// advertised gives where others reach a member.
func advertised(t memberlist.Transport, advertise string) (ip string, port int, err error) {
	bound, port, err := t.FinalAdvertiseAddr("", 0)
	if advertise == "" {
		if err != nil {
			return "", 0, fmt.Errorf("find the own address: %w: say where others reach it", err)
		}
		return bound.String(), port, nil
	}
	addr, e := net.ResolveTCPAddr("tcp", advertise)
	if e != nil || addr.IP == nil {
		return "", 0, errors.Join(fmt.Errorf("advertised address %q: give host:port", advertise), e)
	}
	if addr.Port != 0 {
		port = addr.Port
	}
	return addr.IP.String(), port, nil
}

func joinAddr(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// drain drops what arrives until done, so that the listeners can end.
func drain(t memberlist.Transport, done <-chan struct{}) {
	for {
		select {
		case <-t.PacketCh():
		case conn := <-t.StreamCh():
			_ = conn.Close() // it has nothing to say
		case <-done:
			return
		}
	}
}
