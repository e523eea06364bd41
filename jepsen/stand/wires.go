//go:build linux

package stand

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Wires are proxies before the servers' API and raft ports, one each. What passes
// between one machine and the servers can be held up, delayed and broken off.
type Wires struct {
	listeners []net.Listener
	all       sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	spells  map[wire]Spell
	strands map[*strand]bool
	turned  map[string]Turn // by address of the machine
	closed  bool
}

// wire is one way that bytes take.
type wire struct {
	machine string  // its address
	to      *Server // nil: every one
	door    Door
}

// Spell is what happens to the bytes between one machine and the servers. The zero
// value is nothing.
type Spell struct {
	HoldOut, HoldIn   bool          // nothing arrives; In is towards the machine
	DelayOut, DelayIn time.Duration // everything arrives so much later
	Jitter            time.Duration // and up to so much more; the order stays
}

// with adds another spell.
func (s Spell) with(o Spell) Spell {
	return Spell{HoldOut: s.HoldOut || o.HoldOut, HoldIn: s.HoldIn || o.HoldIn,
		DelayOut: s.DelayOut + o.DelayOut, DelayIn: s.DelayIn + o.DelayIn, Jitter: s.Jitter + o.Jitter}
}

// Turn gets a connection of a machine that was meant for the API of a server at
// that address, and closes it.
type Turn func(server string, c net.Conn)

// strand is one proxied connection.
type strand struct {
	wire
	client, far *net.TCPConn
}

func newWires(servers []*Server) (*Wires, error) {
	w := &Wires{spells: map[wire]Spell{}, strands: map[*strand]bool{}, turned: map[string]Turn{}}
	w.changed = sync.NewCond(&w.mu)
	for _, sv := range servers {
		for door, at := range map[Door]string{API: sv.Addr(), Raft: sv.RaftAddr()} {
			l, err := net.Listen("tcp", at)
			if err != nil {
				return w, fmt.Errorf("lay wire to %s: %w", sv.Name, err)
			}
			w.listeners = append(w.listeners, l)
			w.all.Go(func() { w.accept(l, sv, door) })
		}
	}
	return w, nil
}

// Cast sets what happens on the wires of a machine to the API of all servers from
// now on.
func (w *Wires) Cast(m *Machine, s Spell) { w.cast(wire{m.IP, nil, API}, s) }

// CastTo sets what happens, from now on, on the wire of a machine to one door of one
// server, beside what Cast says. m is nil for clients in the driver.
func (w *Wires) CastTo(m *Machine, to *Server, door Door, s Spell) {
	from := driverIP
	if m != nil {
		from = m.IP
	}
	w.cast(wire{from, to, door}, s)
}

func (w *Wires) cast(on wire, s Spell) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s == (Spell{}) {
		delete(w.spells, on)
	} else {
		w.spells[on] = s
	}
	w.changed.Broadcast()
}

// Heal ends all spells; what was held up arrives.
func (w *Wires) Heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.spells)
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

// Break breaks off all connections that a machine has made; what is on its way is
// lost.
func (w *Wires) Break(m *Machine) {
	w.breakOff(func(s *strand) bool { return s.machine == m.IP })
}

// BreakServer breaks off all connections to and from a server.
func (w *Wires) BreakServer(sv *Server) {
	w.breakOff(func(s *strand) bool { return s.machine == sv.IP || s.to == sv })
}

// BreakDoor breaks off all connections to one door of a server.
func (w *Wires) BreakDoor(sv *Server, door Door) {
	w.breakOff(func(s *strand) bool { return s.to == sv && s.door == door })
}

func (w *Wires) breakOff(which func(*strand) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.strands {
		if which(s) {
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

func (w *Wires) accept(l net.Listener, to *Server, door Door) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		w.all.Go(func() { w.connect(c.(*net.TCPConn), to, door) })
	}
}

// connect joins a client to its server until one of them closes.
func (w *Wires) connect(client *net.TCPConn, sv *Server, door Door) {
	machine, _, _ := net.SplitHostPort(client.RemoteAddr().String()) // the kernel wrote it
	to := sv.APIAddr()
	if door == Raft {
		to = fmt.Sprintf("%s:%d", sv.IP, raftPort)
	}
	w.mu.Lock()
	turn := w.turned[machine]
	w.mu.Unlock()
	if turn != nil && door == API {
		turn(to, client)
		return
	}
	far, err := net.DialTimeout("tcp", to, 5*time.Second)
	if err != nil {
		_ = client.SetLinger(0) // as a server that is not there
		client.Close()
		return
	}
	s := &strand{wire: wire{machine, sv, door}, client: client, far: far.(*net.TCPConn)}
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

// spell is what happens on a strand. mu is held.
func (w *Wires) spell(s *strand) Spell {
	if len(w.spells) == 0 {
		return Spell{}
	}
	return w.spells[s.wire].with(w.spells[wire{s.machine, nil, s.door}])
}

func (w *Wires) delay(s *strand, out bool) time.Duration {
	w.mu.Lock()
	spell := w.spell(s)
	w.mu.Unlock()
	d := spell.DelayIn
	if out {
		d = spell.DelayOut
	}
	if d > 0 && spell.Jitter > 0 {
		d += time.Duration(rand.Int64N(int64(spell.Jitter)))
	}
	return d
}

// released waits while the strand is held; it gives false when all wires are closed.
func (w *Wires) released(s *strand, out bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		spell := w.spell(s)
		if w.closed || !(out && spell.HoldOut || !out && spell.HoldIn) {
			return !w.closed
		}
		w.changed.Wait()
	}
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
