package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// servers is how many a stand has.
const servers = 3

// readyLimit is how long servers may take until they serve.
const readyLimit = 60 * time.Second

// kind is a system that is measured.
type kind string

const (
	etcd kind = "etcd"
	nats kind = "nats"
)

// member is what one server of a stand is told, as a JSON file.
type member struct {
	Kind   kind
	Name   string
	Dir    string // its data
	Client string // host:port at which clients reach it
	Peer   string // host:port at which the others do
	All    []address
	Keys   *keyFiles // nil: in clear
}

// address is where the servers reach one of them.
type address struct{ Name, Peer string }

// scheme is that of the URLs of the server, of two that its makers use.
func (m *member) scheme(clear, secure string) string {
	if m.Keys == nil {
		return clear + "://"
	}
	return secure + "://"
}

// stand is three servers of one kind, as processes of this program. It is for one goroutine, but for
// what says otherwise.
type stand struct {
	dir     string
	members []*member
	procs   []*process
	tls     *tls.Config // of clients; nil: in clear
}

// openStand starts the servers, with their data in a new folder in dir (empty: the system's place). They
// may not serve yet when it returns. Whoever opens a stand closes it.
func openStand(k kind, dir string, secure bool) (_ *stand, err error) {
	s := &stand{}
	defer func() {
		if err != nil {
			_ = s.close() // the first error matters
		}
	}()
	if s.dir, err = os.MkdirTemp(dir, "vigil-peers-"); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	var keys *keyFiles
	if secure {
		if keys, s.tls, err = makeKeys(s.dir); err != nil {
			return nil, err
		}
	}
	ports, err := freePorts(2 * servers)
	if err != nil {
		return nil, err
	}
	var all []address
	for i := range servers {
		name := fmt.Sprintf("s%d", i+1)
		all = append(all, address{name, ports[2*i+1]})
		s.members = append(s.members, &member{Kind: k, Name: name, Dir: filepath.Join(s.dir, name),
			Client: ports[2*i], Peer: ports[2*i+1], Keys: keys})
	}
	s.procs = make([]*process, servers)
	for i, m := range s.members {
		m.All = all
		text, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("encode settings of %s: %w", m.Name, err)
		}
		if err := os.WriteFile(m.Dir+".json", text, 0o600); err != nil {
			return nil, fmt.Errorf("write settings of %s: %w", m.Name, err)
		}
		if err := s.start(i); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// start starts the i-th server; its data, if any, is what it had.
func (s *stand) start(i int) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	s.procs[i], err = startProcess(s.members[i].Dir+".log", program, "serve", s.members[i].Dir+".json")
	return err
}

// kill ends the i-th server as a power failure would, as far as processes go.
func (s *stand) kill(i int) { s.procs[i].kill() }

// await asks until the answer is nil, for at most readyLimit; it gives up when a server has ended.
func (s *stand) await(ctx context.Context, what string, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		once, enough := context.WithTimeout(ctx, 5*time.Second)
		err := ask(once)
		enough()
		if err == nil {
			return nil
		}
		for i, p := range s.procs {
			if e := p.ended(); e != nil {
				return fmt.Errorf("server %s ended: %w: %s", s.members[i].Name, e, p.lastWords())
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait until %s: not within %s: %w", what, readyLimit, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// urls are those of all servers for clients.
func (s *stand) urls(clear, secure string) []string {
	var list []string
	for _, m := range s.members {
		list = append(list, m.scheme(clear, secure)+m.Client)
	}
	return list
}

// close ends the servers and removes their data.
func (s *stand) close() error {
	for _, p := range s.procs {
		if p != nil {
			p.kill() // the data is thrown away; nobody has to wait for a good-bye
		}
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// usage is what servers and load had used of the processors at a moment.
type usage struct {
	at           time.Time
	servers, own time.Duration
}

func (s *stand) usage() usage {
	u := usage{at: time.Now(), own: ownTime()}
	for _, p := range s.procs {
		u.servers += p.cpuTime()
	}
	return u
}

// reportUsage reports what was used since then.
func (s *stand) reportUsage(r *report, before usage) {
	after := s.usage()
	seconds := after.at.Sub(before.at).Seconds()
	if after.servers > before.servers {
		r.set("servers_cpu_cores", (after.servers-before.servers).Seconds()/seconds)
	}
	r.set("bench_cpu_cores", (after.own-before.own).Seconds()/seconds)
}

// Ports lie below those that systems hand out by themselves: a connection that goes out could take one
// of those while its server is being restarted.
const (
	firstPort = 15_000
	lastPort  = 31_999
)

// freePorts gives n loopback addresses on which nobody listens. Another program can be faster.
func freePorts(n int) (addrs []string, err error) {
	given := map[int]bool{}
	err = errors.New("none was tried")
	for range 1000 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if given[port] {
			continue
		}
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		l, e := net.Listen("tcp", addr)
		if e != nil {
			err = e
			continue // somebody else's
		}
		if e := l.Close(); e != nil {
			return nil, e
		}
		given[port] = true
		if addrs = append(addrs, addr); len(addrs) == n {
			return addrs, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports from %d to %d: %w", n, firstPort, lastPort, err)
}
