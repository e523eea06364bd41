//go:build linux

package stand

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Wires are proxies before the servers' API, one each. What passes between one
// machine and the servers can be held up, delayed and broken off.
type Wires struct {
	listeners []net.Listener
	all       sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	spells  map[string]Spell // by address of the machine
	strands map[*strand]bool
	turned  map[string]Turn // by address of the machine
	closed  bool
}

// Spell is what happens to the bytes between one machine and the servers. The zero
// value is nothing.
type Spell struct {
	HoldOut, HoldIn   bool          // nothing arrives; In is towards the machine
	DelayOut, DelayIn time.Duration // everything arrives so much later
}

// Turn gets a connection of a machine that was meant for the API of a server at
// that address, and closes it.
type Turn func(server string, c net.Conn)

// strand is one proxied connection.
type strand struct {
	machine     string
	client, far *net.TCPConn
}

func newWires(servers []*Server) (*Wires, error) {
	w := &Wires{spells: map[string]Spell{}, strands: map[*strand]bool{}, turned: map[string]Turn{}}
	w.changed = sync.NewCond(&w.mu)
	for _, sv := range servers {
		l, err := net.Listen("tcp", sv.wire())
		if err != nil {
			return w, fmt.Errorf("lay wire to %s: %w", sv.Name, err)
		}
		w.listeners = append(w.listeners, l)
		to := sv.APIAddr()
		w.all.Go(func() { w.accept(l, to) })
	}
	return w, nil
}

// Cast sets what happens on the wires of a machine from now on.
func (w *Wires) Cast(m *Machine, s Spell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spells[m.IP] = s
	w.changed.Broadcast()
}

// Divert hands new connections of a machine to somebody between it and the servers;
// nil: to the servers again. It breaks off those that are open.
func (w *Wires) Divert(m *Machine, to Turn) {
	w.mu.Lock()
	w.turned[m.IP] = to
	w.mu.Unlock()
	w.Break(m)
}

// Break breaks off all connections of a machine; what is on its way is lost.
func (w *Wires) Break(m *Machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.strands {
		if s.machine == m.IP {
			s.reset()
		}
	}
	w.changed.Broadcast()
}

// reset closes both sides without sending what is left.
func (s *strand) reset() {
	for _, c := range []*net.TCPConn{s.client, s.far} {
		_ = c.SetLinger(0) // closed already: nothing is left
		_ = c.Close()
	}
}

func (w *Wires) accept(l net.Listener, to string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		w.all.Go(func() { w.connect(c.(*net.TCPConn), to) })
	}
}

// connect joins a client to its server until one of them closes.
func (w *Wires) connect(client *net.TCPConn, to string) {
	machine, _, _ := net.SplitHostPort(client.RemoteAddr().String()) // the kernel wrote it
	w.mu.Lock()
	turn := w.turned[machine]
	w.mu.Unlock()
	if turn != nil {
		turn(to, client)
		return
	}
	far, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		_ = client.SetLinger(0) // as a server that is not there
		client.Close()
		return
	}
	s := &strand{machine: machine, client: client, far: far.(*net.TCPConn)}
	w.mu.Lock()
	w.strands[s] = true
	if w.closed {
		s.reset()
	}
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.pass(s, s.far, s.client, true) })
	both.Go(func() { w.pass(s, s.client, s.far, false) })
	both.Wait()
	w.mu.Lock()
	delete(w.strands, s)
	w.mu.Unlock()
}

// parcel is bytes with the time before which they do not arrive.
type parcel struct {
	bytes []byte
	due   time.Time
}

// pass carries one direction of a strand. out is away from the machine.
func (w *Wires) pass(s *strand, to, from *net.TCPConn, out bool) {
	defer to.Close()
	way := make(chan parcel, 256)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(way)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if n > 0 {
				select {
				case way <- parcel{buf[:n], time.Now().Add(w.delay(s, out))}:
				case <-stop:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if !w.released(s, out) {
			return
		}
		if _, err := to.Write(p.bytes); err != nil {
			_ = from.Close() // the reader above ends
			return
		}
	}
}

func (w *Wires) delay(s *strand, out bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out {
		return w.spells[s.machine].DelayOut
	}
	return w.spells[s.machine].DelayIn
}

// released waits while the strand is held; it gives false when all wires are closed.
func (w *Wires) released(s *strand, out bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && (out && w.spells[s.machine].HoldOut || !out && w.spells[s.machine].HoldIn) {
		w.changed.Wait()
	}
	return !w.closed
}

func (w *Wires) close() {
	for _, l := range w.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			continue
		}
	}
	w.mu.Lock()
	w.closed = true
	for s := range w.strands {
		s.reset()
	}
	w.changed.Broadcast()
	w.mu.Unlock()
	w.all.Wait()
}
