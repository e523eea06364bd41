package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
)

// Nothing is heard beyond the loopback interface without being told to, and nothing
// there is believed without a key, unless somebody says so.
func TestGossipFile(t *testing.T) {
	for _, tt := range []struct {
		name  string
		file  gossipFile
		local bool
		bind  string // empty: refused
		want  string
	}{
		{"default on loopback", gossipFile{}, true, "127.0.0.1:0", ""},
		{"default beyond it", gossipFile{}, false, "off", ""},
		{"off", gossipFile{Bind: "off"}, true, "off", ""},
		{"loopback needs no key", gossipFile{Bind: "127.0.0.1:7422"}, false, "127.0.0.1:7422", ""},
		{"no key", gossipFile{Bind: "10.0.0.1:7422"}, false, "", "vigil keygen"},
		{"key", gossipFile{Bind: "10.0.0.1:7422", KeyFile: "k"}, false, "10.0.0.1:7422", ""},
		{"said to be insecure", gossipFile{Bind: "10.0.0.1:7422", Insecure: true}, false, "10.0.0.1:7422", ""},
		{"everywhere", gossipFile{Bind: ":7422", KeyFile: "k"}, false, "", "gossip.advertise"},
		{"everywhere, with an address", gossipFile{Bind: "0.0.0.0:7422", Advertise: "10.0.0.1:0", KeyFile: "k"}, false, "0.0.0.0:7422", ""},
		{"no port", gossipFile{Bind: "10.0.0.1", KeyFile: "k"}, false, "", "host:port"},
		{"advertised nowhere", gossipFile{Bind: "127.0.0.1:0", Advertise: ":1"}, false, "", "host:port"},
	} {
		f := tt.file
		err := f.settle(tt.local)
		switch {
		case tt.bind != "" && (err != nil || f.Bind != tt.bind):
			t.Errorf("%s: bind %q, %v; want %q", tt.name, f.Bind, err, tt.bind)
		case tt.bind == "" && (err == nil || !strings.Contains(err.Error(), tt.want) || cli.ExitCode(err) != cli.ExitUsage):
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestKeygen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gossip.key")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"keygen", file}, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	f := gossipFile{Bind: "127.0.0.1:0", KeyFile: file}
	member, err := f.open(gossip.Host, "h", "b", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	member.Close()
	if code := run(t.Context(), []string{"keygen", file}, strings.NewReader(""), &out, &errs); code != cli.ExitFailed {
		t.Errorf("a key was overwritten: exit code %d", code)
	}
	f.KeyFile += ".none"
	if _, err := f.open(gossip.Host, "h", "b", hclog.NewNullLogger()); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("no key: %v", err)
	}
}
