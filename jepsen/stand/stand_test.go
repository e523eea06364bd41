//go:build linux

package stand

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// tooSlow says why this program is not fit for a stand; empty: it is.
var tooSlow string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(Inside(skipped(), func() int {
		code := m.Run()
		if err := os.RemoveAll(bin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
		return code
	}))
}

// bin is where programs has put them.
var bin string

// programs builds what all stands here run.
var programs = sync.OnceValues(func() (c Config, err error) {
	if bin, err = os.MkdirTemp("", "vigil-stand-"); err != nil {
		return c, err
	}
	return Build(bin, "")
})

// skipped says why nothing can be tried here; empty: it can.
func skipped() string {
	if testing.Short() {
		return "starts machines"
	}
	if tooSlow != "" {
		return tooSlow
	}
	return Missing()
}

// open opens a stand for one test.
func open(t *testing.T, c Config) (*Stand, vigilv1.ClusterClient) {
	t.Helper()
	if why := skipped(); why != "" {
		t.Skip(why)
	}
	built, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	c.Folder, c.Vigil, c.Ticker, c.Box = t.TempDir(), built.Vigil, built.Ticker, built.Box
	began := time.Now()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		left(t, s)
	})
	conn, err := client.Open(client.Config{Addrs: s.Addrs(), Name: "test", RetryFor: patience, TLS: s.TLS()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	cluster := vigilv1.NewClusterClient(conn)
	write(t, cluster)
	t.Logf("the first write was done %s after the stand was opened", time.Since(began).Round(time.Millisecond))
	return s, cluster
}

// write changes something in the cluster.
func write(t *testing.T, c vigilv1.ClusterClient) {
	t.Helper()
	eventually(t, "something is written", func() error {
		// Without a write id a call is not repeated when its leader is lost.
		_, err := c.PutSettings(limited(t), &vigilv1.PutSettingsRequest{By: "test",
			Values: map[string]string{"flap_limit": "0"}})
		return err
	})
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// left fails the test when something of a closed stand is there.
func left(t *testing.T, s *Stand) {
	t.Helper()
	links, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if l.Name == bridge || strings.HasPrefix(l.Name, "v-") {
			t.Errorf("network card %s is left", l.Name)
		}
	}
	if s.group != "" {
		if _, err := os.Stat(s.group); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("cgroup %s is left: %v", s.group, err)
		}
	}
	nft, err := tool2path("nft")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := exec.Command(nft, "list", "ruleset").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(rules), "drop") {
		t.Errorf("rules are left: %s", rules)
	}
	for _, m := range s.Machines() {
		if _, err := m.Processes(); !errors.Is(err, ErrDown) {
			t.Errorf("machine %s is left: %v", m.Name, err)
		}
	}
}

// eventually waits until fn gives nil.
func eventually(t *testing.T, what string, fn func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		err := fn()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
	}
}

// leader gives the name of the leader as a server sees it, "" when it knows none.
func leader(t *testing.T, sv *Server) string {
	t.Helper()
	// Not through the wires: they may be cut.
	conn, err := grpc.NewClient("passthrough:///"+sv.APIAddr(),
		grpc.WithTransportCredentials(sv.stand.Credentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	st, err := vigilv1.NewClusterClient(conn).Status(ctx, &vigilv1.StatusRequest{Stale: true})
	if err != nil {
		return ""
	}
	return st.GetLeader()
}

// agreed waits until all of these servers follow the same one of them.
func agreed(t *testing.T, servers ...*Server) (lead *Server) {
	t.Helper()
	eventually(t, "the servers agree about their leader", func() error {
		name := leader(t, servers[0])
		lead = servers[0].stand.Server(name)
		found := false
		for _, sv := range servers {
			if l := leader(t, sv); l != name {
				return fmt.Errorf("%s follows %q, %s follows %q", servers[0].Name, name, sv.Name, l)
			}
			found = found || sv == lead
		}
		if !found {
			return fmt.Errorf("%q leads", name)
		}
		return nil
	})
	return lead
}

// What stands between servers on a stand: links, wires, members and programs.
func TestServersOfAStand(t *testing.T) {
	s, cluster := open(t, Config{Servers: 3, Spares: 1})
	others := func(sv *Server) (list []*Server) {
		for _, o := range s.Servers {
			if o != sv {
				list = append(list, o)
			}
		}
		return list
	}
	t.Run("a leader without links is followed by another", func(t *testing.T) {
		old := agreed(t, s.Servers...)
		heal, err := s.CutLinks(Between(MachinesOf(old), MachinesOf(others(old)...)))
		if err != nil {
			t.Fatal(err)
		}
		if lead := agreed(t, others(old)...); lead == old {
			t.Errorf("%s leads servers that it cannot reach", old.Name)
		}
		if err := heal(); err != nil {
			t.Fatal(err)
		}
		agreed(t, s.Servers...)
	})
	t.Run("one direction of the log", func(t *testing.T) {
		old := agreed(t, s.Servers...)
		var mute []Link
		for _, o := range others(old) {
			mute = append(mute, Link{From: old.Machine, To: o.Machine, Doors: []Door{Raft, Gossip}})
		}
		heal, err := s.CutLinks(mute)
		if err != nil {
			t.Fatal(err)
		}
		if lead := agreed(t, others(old)...); lead == old {
			t.Errorf("%s leads servers that do not hear it", old.Name)
		}
		if err := errors.Join(heal(), heal()); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("loss and late bytes", func(t *testing.T) {
		machines := MachinesOf(s.Servers...)
		heal, err := s.CutLinks(Lossy(10, Between(machines, machines, API, Raft, Gossip)))
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range s.Servers {
			for _, to := range others(from) {
				s.Wires.CastTo(from.Machine, to, Raft, Spell{DelayIn: 20 * time.Millisecond,
					DelayOut: 20 * time.Millisecond, Jitter: time.Millisecond})
			}
		}
		began := time.Now()
		write(t, cluster)
		if took := time.Since(began); took < 40*time.Millisecond {
			t.Errorf("a write took %s: bytes between servers were not late", took)
		}
		s.Wires.Heal()
		if err := heal(); err != nil {
			t.Fatal(err)
		}
		write(t, cluster)
	})
	t.Run("a server comes and goes, and is known again when it is empty", func(t *testing.T) {
		spare := s.Spares[0]
		for range 2 {
			if err := spare.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := cluster.AddServer(limited(t),
				&vigilv1.AddServerRequest{Id: spare.Name, RaftAddr: spare.RaftAddr()}); err != nil {
				t.Fatal(err)
			}
			if err := spare.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := spare.StartWith(s.Program()); err != nil {
				t.Fatal(err)
			}
			agreed(t, append([]*Server{spare}, s.Servers...)...)
			eventually(t, "the server is removed", func() error {
				_, err := cluster.RemoveServer(limited(t), &vigilv1.RemoveServerRequest{Server: spare.Name})
				return err
			})
			if ended, err := spare.Process.End(limited(t), patience); err != nil || !ended {
				t.Fatalf("the server does not end: %v", err)
			}
			if err := spare.Empty(); err != nil {
				t.Fatal(err)
			}
		}
	})
	write(t, cluster)
}

// Nothing of a stand is in the way of the next one.
func TestAnotherStand(t *testing.T) {
	for range 2 {
		t.Run("again", func(t *testing.T) {
			s, _ := open(t, Config{Servers: 5, Hosts: 1, Limits: map[string]string{"snapshot_entries": "100"}})
			agreed(t, s.Servers...)
		})
	}
}
