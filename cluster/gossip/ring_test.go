package gossip

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
)

// ringOf gives keys of which the one at that place is used.
func ringOf(used int, keys ...Key) []Key {
	keys = slices.Clone(keys)
	for i := range keys {
		keys[i].Used = i == used
	}
	return keys
}

// keyedFleet runs a fleet whose members have one key that came by itself.
func keyedFleet(t *testing.T, servers, hosts int, story func(f *fleet, first Key)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{t: t, net: newNetwork(), servers: servers}
		for i := range servers + hosts {
			f.start(i, func(c *Config) { c.Keyed = true })
		}
		time.Sleep(3 * rejoinEvery)
		f.all(Unknown) // nobody says a word without a key
		first := NewKey(1)
		f.give(ringOf(0, first))
		time.Sleep(2 * rejoinEvery)
		f.all(Alive)
		story(f, first)
		for i := range f.members {
			f.stop(i, false)
		}
		time.Sleep(time.Minute) // the library's own timers
	})
}

// give hands keys to all members but some.
func (f *fleet) give(keys []Key, but ...int) {
	f.t.Helper()
	for i, m := range f.members {
		if slices.Contains(but, i) {
			continue
		}
		if err := m.SetKeys(keys); err != nil {
			f.t.Fatal(err)
		}
	}
}

// While the key is replaced everybody is heard all the time; who does not get the new one is shut out, and
// stays so when it comes back with the old key.
func TestWhoHasOnlyTheOldKeyIsShutOut(t *testing.T) {
	keyedFleet(t, 3, 3, func(f *fleet, first Key) {
		const out = 5
		heard := func(span time.Duration) {
			for range span / (500 * time.Millisecond) {
				time.Sleep(500 * time.Millisecond)
				f.host(3, Alive)
				f.host(4, Alive)
			}
		}
		next := NewKey(2)
		f.give(ringOf(0, first, next), out)
		heard(10 * time.Second)
		f.host(out, Alive)
		f.give(ringOf(1, first, next), 4, out) // host 4 is late
		heard(3 * time.Second)
		f.give(ringOf(1, first, next), out)
		heard(10 * time.Second)
		f.give(ringOf(0, next), out)
		f.until(out, Silent, 20*time.Second)
		heard(10 * time.Second)
		for s := range f.servers {
			if keys := f.members[s].ring.GetKeys(); len(keys) != 1 || !bytes.Equal(keys[0], next.Secret) {
				t.Errorf("server %d has %d keys", s, len(keys))
			}
		}
		f.stop(out, false)
		f.start(out, func(c *Config) { c.Keyed = true })
		if err := f.members[out].SetKeys(ringOf(0, first)); err != nil {
			t.Fatal(err)
		}
		for range 60 {
			time.Sleep(time.Second)
			f.host(out, Silent)
		}
		alone := f.members[out]
		alone.table.mu.Lock()
		defer alone.table.mu.Unlock()
		for name, m := range alone.table.members {
			if m.up && name != alone.name {
				t.Errorf("who was shut out hears %s", name)
			}
		}
	})
}

// A ring that begins anew, as after a restore, takes the place of one of two keys.
func TestKeysTakeEachOthersPlace(t *testing.T) {
	g, err := Open(Config{Kind: Server, ID: "s", Keyed: true, transport: newNetwork().end(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	a, b, c, d := NewKey(1), NewKey(2), NewKey(3), NewKey(4)
	for _, tt := range [][]Key{ringOf(0, a, b), ringOf(1, c, d), ringOf(0, c), ringOf(1, c, a), ringOf(0, b, a),
		ringOf(0, d)} {
		if err := g.SetKeys(tt); err != nil {
			t.Fatal(err)
		}
		keys := g.ring.GetKeys()
		for _, k := range tt {
			at := slices.IndexFunc(keys, func(secret []byte) bool { return bytes.Equal(secret, k.Secret) })
			if at < 0 || k.Used != (at == 0) {
				t.Errorf("%v of %v is at place %d", k, tt, at)
			}
		}
		if len(keys) != len(tt) {
			t.Errorf("%d keys, want those of %v", len(keys), tt)
		}
	}
	if err := g.SetKeys([]Key{a}); err != nil || !bytes.Equal(g.ring.GetPrimaryKey(), d.Secret) {
		t.Errorf("a ring without a key that is used: %v", err)
	}
	if err := g.SetKeys([]Key{{Number: 1, Secret: []byte("short"), Used: true}}); err == nil {
		t.Error("a short key was taken")
	}
	for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(form, []Key{a}); strings.Contains(text, fmt.Sprint(a.Secret)) ||
			strings.Contains(text, fmt.Sprintf("%x", a.Secret)) || !strings.Contains(text, a.ID()[:8]) {
			t.Errorf("%s prints %s", form, text)
		}
	}
}

// L10: what others say of a host is no evidence. A server that reaches a host itself hears it, whatever the
// others do, and one that does not is quick to find out.
func TestOnlyTheOwnProbeIsEvidence(t *testing.T) {
	bubble(t, 3, 3, func(f *fleet) {
		hidden, friend := f.addr(4), f.addr(0)
		f.net.lose(func(from, to string, _ bool) bool {
			return from == hidden && to != friend || to == hidden && from != friend
		})
		for range 240 {
			time.Sleep(250 * time.Millisecond)
			if got := f.hears(0, 4); got != Alive {
				t.Fatalf("server 0 reaches host 4 and hears it %s", got)
			}
		}
		f.heal()
		time.Sleep(time.Minute)
		f.all(Alive)

		// A member that lies says that host 3 has failed, or has left.
		s := f.members[0]
		node := func(meta string) *memberlist.Node {
			s.table.mu.Lock()
			defer s.table.mu.Unlock()
			for name, m := range s.table.members {
				if m.key == keyOf(Host, "h3", "boot") {
					return &memberlist.Node{Name: name, Addr: net.IPv4(10, 0, 0, 4).To4(), Port: port, Meta: []byte(meta)}
				}
			}
			t.Fatal("host 3 is not there")
			return nil
		}
		for name, lie := range map[string]func(*memberlist.Node){"failed": s.table.NotifyLeave,
			"left": s.table.NotifyUpdate} {
			about := node(map[string]string{"left": left}[name])
			lie(about)
			for range 20 {
				if got := f.hears(0, 3); got != Alive {
					t.Fatalf("somebody says that host 3 has %s: it is heard %s", name, got)
				}
				time.Sleep(250 * time.Millisecond)
			}
			s.table.NotifyJoin(node(""))
			time.Sleep(time.Second)
		}
		f.cut(3, false)
		s.table.NotifyLeave(node(""))
		time.Sleep(ownKeep) // its last answer counted for as long
		if got := f.hears(0, 3); got != Silent {
			t.Errorf("host 3 answers nothing and is heard %s", got)
		}
		f.heal()
		s.table.NotifyJoin(node(""))
	})
}

// A file of keys is whole or not there, is for its owner only, and what is no such file is not believed.
func TestKeyFileOfARing(t *testing.T) {
	file := KeyFile(filepath.Join(t.TempDir(), "trust", "gossip.keys"))
	if keys, err := file.Read(); keys != nil || err != nil {
		t.Errorf("no file: %v, %v", keys, err)
	}
	want := ringOf(1, NewKey(7), NewKey(9))
	for range 2 {
		if err := file.Write([]Key{want[1], want[0]}); err != nil {
			t.Fatal(err)
		}
		got, err := file.Read()
		if err != nil || len(got) != 2 || got[0].ID() != want[0].ID() || !got[1].Used || got[0].Used ||
			got[1].Number != 9 {
			t.Errorf("read %v, %v; want %v", got, err, want)
		}
	}
	if info, err := os.Stat(string(file)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v, want mode 0600", info.Mode(), err)
	}
	if left, err := filepath.Glob(string(file) + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	for name, tt := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable": {"[]", 0o640, "vigil gossip rotate"},
		"damaged":  {`[{"number":1,`, 0o600, "come again"},
		"short":    {`[{"number":1,"secret":"AAAA"}]`, 0o600, "come again"},
		"large":    {strings.Repeat(" ", maxKeyFile+1), 0o600, "remove it"},
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, tt.mode); err != nil {
			t.Fatal(err)
		}
		if keys, err := KeyFile(file).Read(); err == nil || keys != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v, want %q", name, keys, err, tt.want)
		}
	}
}
