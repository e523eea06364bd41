package conf

import (
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

// Nothing is heard beyond the loopback interface without being told to, and nothing
// there is believed without a key, unless somebody says so.
func TestGossipFile(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  Gossip
		local bool
		bind  string // empty: refused
		want  string
	}{
		{"default on loopback", Gossip{}, true, "127.0.0.1:0", ""},
		{"default beyond it", Gossip{}, false, "off", ""},
		{"off", Gossip{Bind: "off"}, true, "off", ""},
		{"loopback needs no key", Gossip{Bind: "127.0.0.1:7422"}, false, "127.0.0.1:7422", ""},
		{"no key", Gossip{Bind: "10.0.0.1:7422"}, false, "", "vigil keygen"},
		{"key", Gossip{Bind: "10.0.0.1:7422", KeyFile: "k"}, false, "10.0.0.1:7422", ""},
		{"said to be insecure", Gossip{Bind: "10.0.0.1:7422", Insecure: true}, false, "10.0.0.1:7422", ""},
		{"everywhere", Gossip{Bind: ":7422", KeyFile: "k"}, false, "", "gossip.advertise"},
		{"everywhere, with an address", Gossip{Bind: "0.0.0.0:7422", Advertise: "10.0.0.1:0", KeyFile: "k"},
			false, "0.0.0.0:7422", ""},
		{"no port", Gossip{Bind: "10.0.0.1", KeyFile: "k"}, false, "", "host:port"},
		{"advertised nowhere", Gossip{Bind: "127.0.0.1:0", Advertise: ":1"}, false, "", "host:port"},
	} {
		f := tt.file
		err := f.settle(tt.local, false)
		switch {
		case tt.bind != "" && (err != nil || f.Bind != tt.bind):
			t.Errorf("%s: bind %q, %v; want %q", tt.name, f.Bind, err, tt.bind)
		case tt.bind == "" && (err == nil || !strings.Contains(err.Error(), tt.want) ||
			cli.ExitCode(err) != cli.ExitUsage):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// With an identity the keys come by themselves: no key and no word is needed, and one that is given is
// refused, since nobody else would have it.
func TestGossipWithAnIdentity(t *testing.T) {
	for _, f := range []Gossip{{Bind: "10.0.0.1:7422"}, {Bind: "0.0.0.0:7422", Advertise: "10.0.0.1:0"},
		{Bind: "127.0.0.1:0"}} {
		if err := f.settle(false, true); err != nil || !f.keyed {
			t.Errorf("%+v: %v", f, err)
		}
	}
	for _, f := range []Gossip{{Bind: "10.0.0.1:7422", KeyFile: "k"}, {Bind: "10.0.0.1:7422", Insecure: true}} {
		if err := f.settle(false, true); err == nil || !strings.Contains(err.Error(), "by themselves") ||
			cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
