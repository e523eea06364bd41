package main

import (
	"bytes"
	"strings"
	"testing"
)

// S1: while nobody has to say who they are, a server that other machines can reach has to be told that
// this is meant.
func TestS01ServersRefuseAddressesThatOthersReach(t *testing.T) {
	for _, c := range []struct {
		what, file string
		args       []string
		named      string // what the refusal names; empty: it is taken
	}{
		{"loopback", "", nil, ""},
		{"localhost", "addr: localhost:7420\nraft_addr: localhost:7421", nil, ""},
		{"the API", "addr: 10.0.0.1:7420", nil, "addr 10.0.0.1:7420"},
		{"the log", "raft_addr: 10.0.0.1:7421", nil, "raft_addr 10.0.0.1:7421"},
		{"the log's listener", "raft_bind: 0.0.0.0:7421", nil, "raft_bind 0.0.0.0:7421"},
		{"a proxy in front", "advertise_addr: vigil.example.org:7420", nil, "advertise_addr vigil.example.org:7420"},
		{"by a flag", "", []string{"--addr", "[2001:db8::1]:7420"}, "addr [2001:db8::1]:7420"},
		{"a name", "raft_addr: s1:7421", nil, "raft_addr s1:7421"},
		{"it was said", "insecure: true\naddr: 10.0.0.1:7420\nraft_addr: 10.0.0.1:7421", nil, ""},
		{"it was said by a flag", "addr: 10.0.0.1:7420", []string{"--insecure"}, ""},
		{"a flag takes it back", "insecure: true\naddr: 10.0.0.1:7420", []string{"--insecure=false"},
			"addr 10.0.0.1:7420"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			file := writeRoom(t, ".", "server.yaml", "id: a\nbootstrap_expect: 1\n"+c.file)
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"server", "--check", "--config", file}, c.args...),
				strings.NewReader(""), &out, &errs)
			said := out.String() + errs.String()
			if c.named == "" && code != 0 {
				t.Errorf("refused: %s", said)
			}
			if c.named != "" && (code == 0 || !strings.Contains(said, c.named) ||
				!strings.Contains(said, "insecure: true")) {
				t.Errorf("code %d, said %q; want a refusal that names %s and insecure: true", code, said, c.named)
			}
		})
	}
}
