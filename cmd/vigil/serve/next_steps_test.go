package serve

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/cmd/vigil/term"
)

// A command that was copied without addresses makes no server that the others look for on themselves: it is
// refused before anybody is asked, so the token is good for the right command.
func TestJoinRefusesLoopbackWhereTheOthersAreNot(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	// The second one would be asked, if anybody were.
	token := join.Token{Addrs: []string{"192.0.2.1:7420", listener.Addr().String()}, Pin: strings.Repeat("0a", 32), ID: 7,
		Secret: []byte("0123456789abcdef")}
	dir := t.TempDir()
	file, data := filepath.Join(dir, "server.yaml"), filepath.Join(dir, "data")
	const text = "# of a human\nid: s2\naddr: 127.0.0.1:7420\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		more  []string
		named string
	}{
		{nil, "127.0.0.1:7420"},
		{[]string{"--addr", "10.0.0.2:7420"}, "127.0.0.1:7421"},
		{[]string{"--raft-addr", "10.0.0.2:7421"}, "127.0.0.1:7420"},
		{[]string{"--addr", "0.0.0.0:7420", "--advertise-addr", "localhost:7420", "--raft-addr", "10.0.0.2:7421"},
			"localhost:7420"},
		{[]string{"--addr", "10.0.0.2:7420", "--raft-addr", "[::1]:7421"}, "[::1]:7421"},
	} {
		var out bytes.Buffer
		cmd := newJoinCmd(&cli.App{Terminal: term.Terminal{In: strings.NewReader(""), Out: &out, Err: &out},
			Getenv: os.Getenv})
		cmd.SetArgs(append([]string{token.String(), "--config", file, "--data-dir", data}, tt.more...))
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		err := cmd.ExecuteContext(t.Context())
		if err == nil || !strings.Contains(err.Error(), tt.named) ||
			!strings.Contains(err.Error(), "--raft-addr HERE:7421") ||
			!strings.Contains(err.Error(), "192.0.2.1:7420") {
			t.Errorf("join %v: %v", tt.more, err)
		}
	}
	if _, err := os.Stat(data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a data directory was made: %v", err)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != text {
		t.Errorf("the configuration says %q, %v", now, err)
	}
	// Whoever has dialed is in the queue by now.
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(-time.Second)) // it is one
	if conn, err := listener.Accept(); err == nil {
		_ = conn.Close() // only that it is there matters
		t.Error("a server was asked")
	}
}

func TestJoinTakesTheAddressesThatFit(t *testing.T) {
	for _, tt := range []struct{ servers, addr, raft string }{
		{"127.0.0.1:7420", "127.0.0.1:7430", "127.0.0.1:7431"}, // all on one machine
		{"[::1]:7420", "127.0.0.1:7430", "127.0.0.1:7431"},
		{"10.0.0.1:7420", "10.0.0.2:7420", "10.0.0.2:7421"},
		{"s1.example.org:7420", "s2.example.org:7420", "s2.example.org:7421"},
		{"127.0.0.1:7420", "10.0.0.2:7420", "10.0.0.2:7421"}, // perhaps through a tunnel: dialing tells
	} {
		set := conf.DefaultServer()
		set.AdvertiseAddr, set.RaftAddr = tt.addr, tt.raft
		if err := reachable(set, join.Token{Addrs: []string{tt.servers}}); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// What is printed to be copied is whole: it names addresses, the files of the unit where those are meant, and never
// has root start by hand what the unit's account must be able to open.
func TestNextStepsAreWhole(t *testing.T) {
	token := join.Token{Addrs: []string{"10.0.0.1:7420"}, Pin: strings.Repeat("0a", 32), ID: 7,
		Secret: []byte("0123456789abcdef")}
	server := func(data, addr string) *conf.Server {
		set := conf.DefaultServer()
		set.DataDir, set.AdvertiseAddr, set.RaftAddr = data, addr, strings.Replace(addr, "7420", "7421", 1)
		return set
	}
	for _, tt := range []struct {
		what, said string
		want       []string
		never      string
	}{
		{"the unit's server", howToStart(unitConf, unitData), []string{"chown -R vigil: /var/lib/vigil-server",
			"systemctl enable --now vigil-server"}, "--config"},
		{"its file, other data", howToStart(unitConf, "/srv/data"),
			[]string{"vigil server --config /etc/vigil/server.yaml"}, "systemctl"},
		{"a server by hand", howToStart("d/server.yaml", "d"), []string{"vigil server --config d/server.yaml"}, "systemctl"},
		{"the unit's agentd", howAgentdStarts(agentdConf, agentdData),
			[]string{"systemctl enable --now vigil-agentd"}, "--config"},
		{"agentd by hand", howAgentdStarts("d/agentd.yaml", "d"),
			[]string{"vigil agentd --config d/agentd.yaml"}, "systemctl"},
		{"others, by the unit", howOthersJoin(unitConf, server(unitData, "10.0.0.1:7420"), token),
			[]string{"--config /etc/vigil/server.yaml --data-dir /var/lib/vigil-server " +
				"--addr HERE:7420 --raft-addr HERE:7421 vigil1."}, "PORT"},
		{"others, by hand", howOthersJoin("d/server.yaml", server("d", "s1.example.org:7420"), token),
			[]string{"vigil server join --addr HERE:7420 --raft-addr HERE:7421 vigil1."}, "--config"},
		{"others, on loopback", howOthersJoin(unitConf, server(unitData, "127.0.0.1:7420"), token),
			[]string{"only servers on this machine", "--data-dir DIR", "vigil1."}, "HERE"},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.said, want) {
				t.Errorf("%s: %q is missing in\n%s", tt.what, want, tt.said)
			}
		}
		if strings.Contains(tt.said, tt.never) {
			t.Errorf("%s says %q:\n%s", tt.what, tt.never, tt.said)
		}
	}
}
