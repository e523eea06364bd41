package main

import (
	"bytes"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

// A server or a host without an identity starts only where somebody says so, and then neither reaches
// other machines nor is reached by them. What is refused names what to do instead.
func TestS01NothingRunsWithoutIdentityBeyondLoopback(t *testing.T) {
	const none = "has no identity"
	for _, c := range []struct {
		what, role, file string
		args             []string
		named            string // what the refusal names; empty: it is taken
	}{
		{"nothing said", "server", "", nil, none},
		{"taken back by a flag", "server", "insecure: true", []string{"--insecure=false"}, none},
		{"said", "server", "insecure: true", nil, ""},
		{"said by a flag", "server", "", []string{"--insecure"}, ""},
		{"localhost", "server", "insecure: true\naddr: localhost:7420\nraft_addr: localhost:7421", nil, ""},
		{"the API", "server", "insecure: true\naddr: 10.0.0.1:7420", nil, "addr 10.0.0.1:7420"},
		{"everywhere", "server", "insecure: true\naddr: 0.0.0.0:7420\nadvertise_addr: 127.0.0.1:7420",
			nil, "addr 0.0.0.0:7420"},
		{"the log", "server", "insecure: true\nraft_addr: 10.0.0.1:7421", nil, "raft_addr 10.0.0.1:7421"},
		{"the log's listener", "server", "insecure: true\nraft_bind: 0.0.0.0:7421", nil, "raft_bind 0.0.0.0:7421"},
		{"a proxy in front", "server", "insecure: true\nadvertise_addr: vigil.example.org:7420", nil,
			"advertise_addr vigil.example.org:7420"},
		{"by a flag", "server", "insecure: true", []string{"--addr", "[2001:db8::1]:7420"}, "addr [2001:db8::1]:7420"},
		{"a name", "server", "insecure: true\nraft_addr: s1:7421", nil, "raft_addr s1:7421"},
		{"gossip", "server", "insecure: true\ngossip: {bind: '10.0.0.1:7422', insecure: true}", nil,
			"gossip.bind 10.0.0.1:7422"},
		{"gossip told to others", "server",
			"insecure: true\ngossip: {bind: '127.0.0.1:7422', advertise: '10.0.0.1:7422'}", nil,
			"gossip.advertise 10.0.0.1:7422"},
		{"a cluster to join", "server", "insecure: true\njoin: ['10.0.0.1:7420']", nil, "join 10.0.0.1:7420"},

		{"nothing said", "agentd", "", nil, none},
		{"said", "agentd", "insecure: true", nil, ""},
		{"said by a flag", "agentd", "", []string{"--insecure"}, ""},
		{"a server elsewhere", "agentd", "insecure: true\nservers: ['127.0.0.1:7420', '10.0.0.1:7420']",
			nil, "10.0.0.1:7420: "},
		{"gossip", "agentd", "insecure: true\ngossip: {bind: '10.0.0.1:7422', insecure: true}", nil, "10.0.0.1:7422: "},
	} {
		t.Run(c.role+" "+c.what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			text, remedy := "id: a\n"+c.file, []string{"vigil server init", "vigil server join TOKEN", "loopback"}
			if strings.Contains(c.file, "insecure") && !strings.Contains(c.file, "join") {
				text = "found: true\n" + text
			}
			if c.role == "agentd" {
				text, remedy = c.file+"\n", []string{"vigil agentd join TOKEN", "loopback"}
			}
			file := writeRoom(t, ".", "file.yaml", text)
			start := append([]string{c.role, "--config", file}, c.args...)
			for _, args := range [][]string{append(start, "--check"), start} {
				var out, errs bytes.Buffer
				if c.named == "" && len(args) == len(start) {
					continue // it would run
				}
				code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
				said := out.String() + errs.String()
				if c.named == "" {
					if code != 0 {
						t.Errorf("refused: %s", said)
					}
					continue
				}
				for _, want := range append(remedy, c.named) {
					if code != cli.ExitFailed && code != cli.ExitUsage || !strings.Contains(said, want) {
						t.Errorf("%q: code %d, said %q, want %q", args, code, said, want)
					}
				}
			}
		})
	}
}
