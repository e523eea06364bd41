package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
)

// fakeEnv makes this program a vigil: its value is the folder in which it notes that it was called.
const fakeEnv = "PEERS_TEST_VIGIL"

// TestMain lets stands start their servers from the test's program.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		if err := serve(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(fakeEnv) != "" {
		fake()
		return
	}
	os.Exit(m.Run())
}

// patience is how long a test of real processes may take.
const patience = 3 * time.Minute

// Each measurement runs end to end, in clear and with TLS: it counts operations, none fails, nothing is
// lost, and no process and no file is left.
func TestMeasurements(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // figures above 0
	}{
		{"etcd-writes -clients 1,4 -duration 300ms -conns 2", []string{"p50_ms_1_clients", "per_second_4_clients"}},
		{"etcd-writes -clients 4 -duration 300ms -secure -spread", []string{"p99_ms_4_clients", "servers_cpu_cores"}},
		{"etcd-wake -count 10 -rate 200 -duration 500ms -secure", []string{"p99_ms", "create_p50_ms"}},
		{"etcd-failover -count 1 -secure", []string{"p50_ms"}},
		{"nats-tasks -clients 8 -duration 300ms -conns 3", []string{"per_second", "tasks_created"}},
		{"nats-tasks -clients 8 -duration 300ms -secure -queue", []string{"per_second", "tasks_completed"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			dir := t.TempDir()
			var out bytes.Buffer
			args := append([]string{"run"}, strings.Fields(c.args)...)
			if err := command(ctx, append(args, "-dir", dir), &out, t.Output()); err != nil {
				t.Fatal(err)
			}
			var got answer
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			for _, name := range append(c.want, "count", "seconds", "p50_ms", "max_ms") {
				if _, err := got.figure(name); err != nil {
					t.Error(err)
				}
			}
			for _, name := range []string{"errors", "tasks_twice", "tasks_left"} {
				if v, ok := got[name]; ok && v != 0.0 {
					t.Errorf("%s is %v: %v", name, v, got["first_error"])
				}
			}
			if got["name"] != args[1] || !strings.Contains(got["server"].(string), ".") {
				t.Errorf("it is called %v, of %v", got["name"], got["server"])
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) > 0 {
				t.Errorf("%v was left: %v", left, err)
			}
		})
	}
}

// With -secure no server talks to a client without a certificate, nor to another server without one.
func TestStrangersAreRefused(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	o := &options{secure: true, conns: 1, dir: t.TempDir()}
	e, err := openEtcd(ctx, o, &report{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	for _, m := range e.members {
		trySomebody(t, m.Client, e.tls)
		trySomebody(t, m.Peer, e.tls)
	}
	n, err := openNATS(ctx, o, &report{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	for _, m := range n.members {
		if c, err := natsgo.Connect("tls://"+m.Client, natsgo.Secure(&tls.Config{RootCAs: n.tls.RootCAs})); err == nil {
			c.Close()
			t.Errorf("nats-server at %s let somebody in without a certificate", m.Client)
		}
		trySomebody(t, m.Peer, n.tls)
	}
}

// trySomebody speaks with a server as one who knows its root and has no certificate, and as who has one.
func trySomebody(t *testing.T, addr string, known *tls.Config) {
	t.Helper()
	err := shakeHands(addr, &tls.Config{RootCAs: known.RootCAs}, "")
	if err == nil || !strings.Contains(err.Error(), "certificate required") {
		t.Errorf("%s to somebody without a certificate: %v", addr, err)
	}
	if err := shakeHands(addr, known, "GET /version HTTP/1.0\r\n\r\n"); err != nil {
		t.Errorf("%s to who has one: %v", addr, err)
	}
}

// shakeHands speaks TLS with a server, says what it has to say, and reads a line. In TLS 1.3 whoever dials
// hears only after the handshake that it was refused.
func shakeHands(addr string, with *tls.Config, say string) error {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", addr, with)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := c.Write([]byte(say)); err != nil {
		return err
	}
	_, err = bufio.NewReader(c).ReadString('\n')
	return err
}

// Without sync_interval: always a nats-server acknowledges what is on no disk.
func TestNATSWritesThrough(t *testing.T) {
	dir := t.TempDir()
	keys, _, err := makeKeys(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []*keyFiles{nil, keys} {
		m := &member{Kind: nats, Name: "s1", Dir: dir + "/s1", Client: "127.0.0.1:15001", Peer: "127.0.0.1:15002",
			All: []address{{"s1", "127.0.0.1:15002"}, {"s2", "127.0.0.1:15004"}}, Keys: k}
		if err := os.WriteFile(dir+"/nats.conf", []byte(natsConfig(m)), 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := natsserver.ProcessConfigFile(dir + "/nats.conf")
		if err != nil {
			t.Fatal(err)
		}
		if !o.SyncAlways || !o.JetStream || o.StoreDir != m.Dir || o.Port != 15001 || o.Cluster.Port != 15002 ||
			len(o.Routes) != 2 {
			t.Errorf("the configuration is read otherwise:\n%s", natsConfig(m))
		}
		for _, with := range []*tls.Config{o.TLSConfig, o.Cluster.TLSConfig} {
			if (with != nil) != (k != nil) || with != nil && with.ClientAuth != tls.RequireAndVerifyClientCert {
				t.Errorf("certificates are not asked for:\n%s", natsConfig(m))
			}
		}
	}
}

// A server that ends by itself ends the wait for it, with its last words.
func TestServerThatEndsIsNoticed(t *testing.T) {
	s, err := openStand("something else", t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	err = s.await(t.Context(), "it answers", func(context.Context) error { return errors.New("no answer") })
	if err == nil || !strings.Contains(err.Error(), `there is no system "something else"`) {
		t.Errorf("it was told: %v", err)
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for args, want := range map[string]string{
		"":                                     "",
		"help":                                 "",
		"fly":                                  `no command "fly"`,
		"run":                                  "takes the name",
		"run redis":                            `no measurement "redis"`,
		"run etcd-writes -clients 0":           "give 1 to 100000",
		"run etcd-writes -clients 1,x":         "give 1 to 100000",
		"run etcd-writes -duration 1h":         "up to 1m",
		"run etcd-writes -conns 0":             "give 1 to 1000",
		"run etcd-wake -rate 0":                "give 1 to 100000",
		"run etcd-wake now":                    `what is "now"`,
		"run etcd-failover -duration 1s":       "not defined",
		"run nats-tasks -spread":               "not defined",
		"compare":                              "-vigil is missing",
		"compare -vigil /no/such/program":      "find vigil",
		"compare -vigil sh -rounds 0":          "give 1 to 100",
		"compare -vigil sh -only writes,beats": `no job "beats"`,
		"compare -vigil sh -duration -1s":      "up to 1m",
		"serve":                                "takes the file",
		"serve /no/such/file":                  "read settings",
	} {
		err := command(t.Context(), strings.Fields(args), &bytes.Buffer{}, &bytes.Buffer{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("peers %s: %v, want %q", args, err, want)
		}
	}
}
