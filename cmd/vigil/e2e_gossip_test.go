//go:build linux

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// secrets reads the keys of gossip of a server or host, which nobody else may read.
func (f *trustFleet) secrets(who string) (keys [][]byte) {
	f.t.Helper()
	name := filepath.Join(f.dir, who, "trust", "gossip.keys")
	text, err := os.ReadFile(name)
	if err != nil {
		f.t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		f.t.Errorf("%s: %v, %v", name, info.Mode(), err)
	}
	var list []struct{ Secret []byte }
	if err := json.Unmarshal(text, &list); err != nil {
		f.t.Fatal(err)
	}
	for _, k := range list {
		keys = append(keys, k.Secret)
	}
	return keys
}

// oneKey waits until members have the same key and no other.
func (f *trustFleet) oneKey(members ...string) []byte {
	f.t.Helper()
	var last [][][]byte
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last = nil
		for _, who := range members {
			last = append(last, f.secrets(who))
		}
		if !slices.ContainsFunc(last, func(keys [][]byte) bool {
			return len(keys) != 1 || !bytes.Equal(keys[0], last[0][0])
		}) {
			return last[0][0]
		}
	}
	for i, keys := range last {
		f.t.Errorf("%s has %d keys", members[i], len(keys))
	}
	f.t.FailNow()
	return nil
}

// heardInGossip waits until so many servers hear a host in gossip.
func (f *trustFleet) heardInGossip(host string, servers int) {
	f.t.Helper()
	out := ""
	for end, rest := time.Now().Add(patience), rests(); time.Now().Before(end); rest() {
		out, _ = f.as("admin", "host", "show", host, "--json")
		var h struct{ Views []struct{ Gossip string } }
		if json.Unmarshal([]byte(out), &h) != nil {
			continue
		}
		alive := 0
		for _, v := range h.Views {
			if v.Gossip == "alive" {
				alive++
			}
		}
		if alive == servers {
			return
		}
	}
	f.t.Fatalf("host %s is not heard by %d servers:\n%s", host, servers, out)
}

// joinHost has a host join and runs its agentd.
func (f *trustFleet) joinHost(name string, args ...string) *proc {
	f.t.Helper()
	token := tokenForm.FindString(f.must("admin", "token", "create", "--role", "host"))
	f.must("admin", "agentd", "join", token, "--data-dir", filepath.Join(f.dir, name), "--name", name)
	return spawn(f.t, name, append([]string{"agentd", "--config", filepath.Join(f.dir, name, "agentd.yaml")}, args...)...)
}

// Gossip is encrypted without a step: keys come over the connections of servers and hosts, are replaced when
// somebody says so, a host is forgotten or a server removed, and are nowhere but in the files of members.
func TestGossipKeysComeByThemselves(t *testing.T) {
	t.Parallel()
	f := foundFleet(t)
	h1, h2 := f.joinHost("h1"), f.joinHost("h2", "--drain")
	f.heardInGossip("h1", 3)
	f.heardInGossip("h2", 3)
	first := f.oneKey("s1", "s2", "s3", "h1", "h2")
	for _, p := range append(f.servers, h1, h2) {
		if !strings.Contains(p.out.String(), "encrypted=true") || strings.Contains(p.out.String(), "encrypted=false") {
			t.Errorf("%s does not gossip encrypted:\n%s", p.name, p.out.tail())
		}
	}
	f.until("admin", "All use key 1.", "gossip", "status")
	if out, err := f.as("nobody", "gossip", "rotate"); err == nil {
		t.Errorf("somebody without an identity has the key replaced: %s", out)
	}
	if out := f.must("admin", "gossip", "rotate", "--wait", "--timeout", "90s"); !strings.Contains(out, "All use key 2.") {
		t.Errorf("rotate says %s", out)
	}
	second := f.oneKey("s1", "s2", "s3", "h1", "h2")
	f.heardInGossip("h1", 3)

	h2.signal(syscall.SIGTERM)
	h2.end()
	f.until("admin", "left", "host", "list")
	f.must("admin", "host", "forget", "h2")
	f.until("admin", "All use key 3.", "gossip", "status")
	third := f.oneKey("s1", "s2", "s3", "h1")
	if got := f.secrets("h2"); len(got) != 1 || !bytes.Equal(got[0], second) {
		t.Error("a host that was forgotten has got a newer key")
	}

	f.must("admin", "server", "remove", "s3")
	f.until("admin", "All use key 4.", "gossip", "status")
	fourth := f.oneKey("s1", "s2", "h1")
	f.heardInGossip("h1", 2)
	if slices.ContainsFunc(f.secrets("s3"), func(key []byte) bool { return bytes.Equal(key, fourth) }) {
		t.Error("a server that was removed has got the newer key")
	}
	secrets := newSecrets()
	for i, key := range [][]byte{first, second, third, fourth} {
		secrets.add(fmt.Sprintf("key %d of gossip", i+1), key)
	}
	f.nowhere(secrets, append(f.servers, h1, h2)...)
}
