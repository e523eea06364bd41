//go:build linux

package main_test

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"vigil/rpc/gen/vigilv1"
)

// F5: a waiting command that is cut off, or frozen, loses its lease and its task,
// and is told when it comes back.
func TestWaitThatIsCutOff(t *testing.T) {
	t.Parallel()
	// Clients follow the leader to the address that it names: that has to be a wire.
	var w *wire
	c := newCrew(t, func(f *testFleet) {
		w = newWire(t, f.api)
		f.front = w.addrs()
	})
	const ttl = 1500 * time.Millisecond

	t.Run("it goes on when nobody took its place", func(t *testing.T) {
		c := c.in(t)
		c.role("alone", byHand(ttl, 1))
		p := spawn(t, "cut off", "wait-for-task", "--agent", "alone/a", "--addr", strings.Join(w.addrs(), ","))
		life := c.sees("agent.joined", "alone/a", 0).GetIncarnation()
		w.cut(p.cmd.Process.Pid)
		began := time.Now()
		c.sees("agent.lease_ended", "alone/a", 0)
		c.took("cut off -> lease ended (ttl 1.5s)", began)
		w.mend()
		began = time.Now()
		if e := c.sees("agent.joined", "alone/a", 0); e.GetIncarnation() != life {
			t.Errorf("it came back as life %s, was %s", e.GetIncarnation(), life)
		}
		c.took("mended -> waiting again", began)
		p.claimed(c.task("alone", "after the cut"))
	})

	t.Run("its claim is recovered and it is told that another took its place", func(t *testing.T) {
		c := c.in(t)
		const ttl = 5 * time.Second // the task must come before the lease of the one that is cut off ends
		c.role("taken", byHand(ttl, 1))
		p := spawn(t, "cut off", "wait-for-task", "--agent", "taken/a", "--addr", strings.Join(w.addrs(), ","))
		c.sees("agent.joined", "taken/a", 0)
		c.parked()
		w.cut(p.cmd.Process.Pid)
		began := time.Now()
		task := c.task("taken", "lost on its way")
		c.sees("task.claimed", "taken/a", task) // the answer never arrives
		c.sees("task.recovered", "", task)
		c.took("cut off -> its claim recovered (ttl 5s)", began)
		c.cli("wait-for-task", "--agent", "taken/a", "--incarnation", "").claimed(task)
		c.took("cut off -> claimed by another process", began)
		w.mend()
		began = time.Now()
		if code := p.end(); code != 7 || strings.Contains(p.out.String(), "task ") {
			t.Errorf("L6: the old life ended with %d: %s", code, p.out.tail())
		}
		c.took("mended -> the old life has ended with 7", began)
		t.Log(strings.TrimSpace(p.out.tail()))
	})

	t.Run("frozen and thawed", func(t *testing.T) {
		c := c.in(t)
		c.role("frozen", byHand(ttl, 1))
		p := c.cli("wait-for-task", "--agent", "frozen/a")
		c.sees("agent.joined", "frozen/a", 0)
		p.signal(syscall.SIGSTOP)
		began := time.Now()
		c.sees("agent.lease_ended", "frozen/a", 0)
		c.took("frozen -> lease ended (ttl 1.5s)", began)
		p.signal(syscall.SIGCONT)
		began = time.Now()
		c.sees("agent.joined", "frozen/a", 0)
		c.took("thawed -> waiting again", began)
		p.claimed(c.task("frozen", "after the frost"))
	})

	t.Run("a program that was superseded is stopped", func(t *testing.T) {
		c := c.in(t)
		c.role("run", byHand(ttl, 1))
		p := c.cli("run", "--agent", "run/a", "--grace", "1m", "--", "sh", "-c",
			`sh -c "trap 'sleep 0.2; echo cleaned up; exit' TERM; echo ready; while :; do sleep 0.1; done" &
			sleep 3600 & echo pid $!; wait`)
		p.shows(regexp.MustCompile("ready"))
		number := regexp.MustCompile(`pid (\d+)\n`)
		pid, err := strconv.Atoi(number.FindStringSubmatch(p.shows(number))[1])
		if err != nil {
			t.Fatal(err)
		}
		p.signal(syscall.SIGSTOP)
		c.sees("agent.lease_ended", "run/a", 0)
		next := c.cli("run", "--agent", "run/a", "--", "sh", "-c", "echo mine; exec sleep 3600")
		next.shows(regexp.MustCompile("mine"))
		p.signal(syscall.SIGCONT)
		began := time.Now()
		if code := p.end(); code != 7 {
			t.Errorf("L6: the old life ended with %d: %s", code, p.out.tail())
		}
		c.took("thawed -> the old life has ended with 7", began)
		if alive(pid) {
			t.Errorf("what its program has started, pid %d, still runs", pid)
		}
		if !strings.Contains(p.out.String(), "cleaned up") {
			t.Errorf("what its program has started got no grace: %s", p.out.tail())
		}
	})
}

// parked waits until some server holds a waiting call.
func (c *crew) parked() {
	c.t.Helper()
	var servers []vigilv1.ClusterClient
	for _, addr := range c.api {
		// Not a client of ours, which might ask another server.
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			c.t.Fatal(err)
		}
		defer conn.Close()
		servers = append(servers, vigilv1.NewClusterClient(conn))
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx := c.ctx(); ; {
		for _, s := range servers {
			if st, err := s.Status(ctx, &vigilv1.StatusRequest{Stale: true}); err == nil && st.GetWaiters() > 0 {
				return
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.t.Fatal("no server holds a waiting call")
		}
	}
}

// wire is a set of TCP proxies, one before each server, that can be cut for one
// process, or for everybody: nothing is closed, nothing arrives.
type wire struct {
	t         *testing.T
	listeners []net.Listener
	work      sync.WaitGroup

	mu     sync.Mutex
	mended *sync.Cond
	victim int // process that is cut off, or everybody
	conns  []*strand
}

// everybody is cut off from what is behind a wire.
const everybody = -1

// strand is one proxied connection.
type strand struct {
	in, out net.Conn
	isCut   bool // guarded by wire.mu
}

func newWire(t *testing.T, to []string) *wire {
	t.Helper()
	w := &wire{t: t}
	w.mended = sync.NewCond(&w.mu)
	for _, addr := range to {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		w.listeners = append(w.listeners, l)
		w.work.Go(func() { w.accept(l, addr) })
	}
	t.Cleanup(w.close)
	return w
}

func (w *wire) addrs() (all []string) {
	for _, l := range w.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

func (w *wire) accept(l net.Listener, addr string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return // closed
		}
		out, err := net.Dial("tcp", addr)
		if err != nil {
			in.Close()
			continue
		}
		s := &strand{in: in, out: out}
		w.mu.Lock()
		s.isCut = w.hits(in)
		w.conns = append(w.conns, s)
		w.mu.Unlock()
		w.work.Go(func() { w.copy(s, out, in) })
		w.work.Go(func() { w.copy(s, in, out) })
	}
}

// copy passes on what comes while the strand is whole.
func (w *wire) copy(s *strand, to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		for s.isCut {
			w.mended.Wait()
		}
		w.mu.Unlock()
		if _, e := to.Write(buf[:n]); e != nil || err != nil {
			return
		}
	}
}

// cut stops what a process sends and gets, on old and on new connections.
func (w *wire) cut(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.victim = pid
	for _, s := range w.conns {
		s.isCut = w.hits(s.in)
	}
}

// hits tells whether a connection is cut; mu is held.
func (w *wire) hits(in net.Conn) bool {
	return w.victim == everybody || w.victim != 0 && holds(w.victim, in)
}

func (w *wire) mend() {
	w.mu.Lock()
	w.victim = 0
	for _, s := range w.conns {
		s.isCut = false
	}
	w.mu.Unlock()
	w.mended.Broadcast()
}

func (w *wire) close() {
	for _, l := range w.listeners {
		l.Close()
	}
	w.mend()
	w.mu.Lock()
	for _, s := range w.conns {
		s.in.Close()
		s.out.Close()
	}
	w.mu.Unlock()
	w.work.Wait()
}

// holds tells whether the other end of a local connection belongs to a process.
func holds(pid int, c net.Conn) bool {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return false
	}
	local := fmt.Sprintf(":%04X", c.RemoteAddr().(*net.TCPAddr).Port)
	socket := ""
	for _, line := range strings.Split(string(table), "\n") {
		if f := strings.Fields(line); len(f) > 9 && strings.HasSuffix(f[1], local) && f[9] != "0" {
			socket = "socket:[" + f[9] + "]"
		}
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	fds, _ := os.ReadDir(dir) // a process that is gone holds nothing
	for _, fd := range fds {
		if to, err := os.Readlink(dir + "/" + fd.Name()); err == nil && to == socket {
			return true
		}
	}
	return false
}
