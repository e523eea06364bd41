package gossip

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Once over real sockets: three servers and two hosts find each other, and a host
// that leaves is heard to leave.
func TestRealSockets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gossip.key")
	if err := WriteKey(file); err != nil {
		t.Fatal(err)
	}
	key, err := ReadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Gossip
	var stops []context.CancelFunc
	ended := make(chan error, 5)
	for i, kind := range []Kind{Server, Server, Server, Host, Host} {
		g, err := Open(Config{Kind: kind, ID: string(rune('a' + i)), Bind: "127.0.0.1:0", Key: key})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, g)
		if i > 0 {
			g.Know("cluster", []string{all[0].Addr()}, nil)
		} else {
			g.Know("cluster", nil, nil)
		}
		ctx, stop := context.WithCancel(t.Context())
		stops = append(stops, stop)
		go func() { ended <- g.Run(ctx) }()
	}
	await := func(id string, want ...State) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		limit := time.After(time.Minute)
		for _, s := range all[:3] {
			for !slices.Contains(want, s.Hears(Host, id, "")) {
				select {
				case <-tick.C:
				case <-limit:
					t.Fatalf("host %s is heard %v, want %v", id, s.Hears(Host, id, ""), want)
				}
			}
		}
	}
	await("d", Alive)
	await("e", Alive)
	all[3].Leave()
	stops[3]()
	// Real datagrams get lost on a busy machine, a good-bye too; what tells the two
	// apart is tested in simulated time.
	await("d", Left, Silent)
	for _, stop := range stops {
		stop()
	}
	for range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// A member that never gossips gives its sockets back, even while others talk to it.
func TestCloseWithoutRun(t *testing.T) {
	g, err := Open(Config{Kind: Host, ID: "h", Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Config{Kind: Server, ID: "s", Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	s.Know("cluster", []string{g.Addr()}, nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	addr := g.Addr()
	g.Close()
	g.Close()
	again, err := Open(Config{Kind: Host, ID: "h", Bind: addr})
	if err != nil {
		t.Fatalf("the address was not given back: %v", err)
	}
	again.Close()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOpenMistakes(t *testing.T) {
	busy, err := Open(Config{Kind: Host, ID: "h", Bind: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"no port", Config{Bind: "127.0.0.1"}, "give host:port"},
		{"address in use", Config{Bind: busy.Addr()}, "stop what uses the address"},
		{"no address for others", Config{Bind: "127.0.0.1:0", Advertise: ":7422"}, "give host:port"},
		{"short key", Config{Bind: "127.0.0.1:0", Key: []byte("short")}, "16, 24 or 32"},
	} {
		tt.cfg.Kind, tt.cfg.ID = Host, "h"
		g, err := Open(tt.cfg)
		if err == nil {
			g.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "gossip.key")
	if err := WriteKey(file); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want mode 0600", info.Mode(), err)
	}
	if err := WriteKey(file); err == nil {
		t.Error("a key was overwritten")
	}
	if key, err := ReadKey(file); err != nil || len(key) != 32 {
		t.Errorf("read %d bytes, %v", len(key), err)
	}
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable": {"MDEyMzQ1Njc4OWFiY2RlZg==\n", 0o604, "chmod o-rwx"},
		"short":    {"MDEy\n", 0o600, "16, 24 or 32"},
		"garbage":  {"?\n", 0o600, "16, 24 or 32"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKey(file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	if _, err := ReadKey(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "vigil keygen") {
		t.Errorf("got %v, want a remedy", err)
	}
}

func TestNames(t *testing.T) {
	for _, key := range []memberKey{{Host, "k/e y", "b/o"}, {Server, "s1", ""}} {
		got, err := parseName(nameOf(key.kind, key.id, key.boot, 12345))
		if err != nil || got != key {
			t.Errorf("%v: read %v %v", key, got, err)
		}
	}
	for _, name := range []string{"", "host", "a/b/c", "host/a/b/x", "host/%zz/b/1", "a/b/c/1/2"} {
		if _, err := parseName(name); err == nil {
			t.Errorf("%q was taken for a member's name", name)
		}
	}
}
