package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/cmd/vigil/join"
	"vigil/cmd/vigil/serve"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// Contexts are made, chosen and forgotten; the command line wins over the environment, and that
// over what is selected.
func TestN05ContextChoosesTheServers(t *testing.T) {
	home := t.TempDir()
	do := func(env map[string]string, args ...string) (int, string) {
		t.Helper()
		if env == nil {
			env = map[string]string{}
		}
		env["XDG_CONFIG_HOME"] = home
		code, out, errs := terminalRun{env: env}.do(t, args...)
		return code, out + errs
	}
	for _, step := range []struct {
		args string
		env  map[string]string
		code int
		says string
	}{
		{"context list", nil, 0, "There are no contexts: `vigil context set NAME HOST:PORT` makes one."},
		{"context show", nil, 0, "127.0.0.1:7420"},
		{"context show --identity", nil, 3, "`vigil login TOKEN`"},
		{"context use prod", nil, 3, "there are none yet: `vigil context set NAME HOST:PORT`"},
		{"context set prod 10.0.0.1:7420 http://10.0.0.2:7420/", nil, 0,
			"context prod (10.0.0.1:7420, 10.0.0.2:7420) is selected"},
		{"context set test 10.1.0.1:7420", nil, 0, "`vigil context use test` selects it"},
		{"context set a/b 10.1.0.1:7420", nil, 2, `"a/b" cannot name a context`},
		{"context set bad 10.1.0.1", nil, 2, "write host:port, for instance 10.1.0.1:7420"},
		{"context set bad https://10.1.0.1:7420/v1", nil, 2, "write host:port"},
		{"context list", nil, 0, "*  prod  10.0.0.1:7420, 10.0.0.2:7420"},
		{"context show --servers", nil, 0, "10.0.0.1:7420,10.0.0.2:7420\n"},
		{"context show --servers", map[string]string{"VIGIL_CONTEXT": "test"}, 0, "10.1.0.1:7420\n"},
		{"context show --servers", map[string]string{"VIGIL_CONTEXT": "test", "VIGIL_ADDR": "10.2.0.1:7420"},
			0, "10.2.0.1:7420\n"},
		{"context show --servers --context prod", map[string]string{"VIGIL_ADDR": "10.2.0.1:7420"}, 0,
			"10.0.0.1:7420,10.0.0.2:7420\n"},
		{"context show --servers --addr 10.3.0.1:7420", map[string]string{"VIGIL_ADDR": "10.2.0.1:7420"},
			0, "10.3.0.1:7420\n"},
		{"context show --addr 10.3.0.1:7420 --context prod", nil, 2, "not both"},
		{"context show --context prd", nil, 2, `flag --context: there is no context "prd": `},
		{"context show", map[string]string{"VIGIL_CONTEXT": "tst"}, 2, `VIGIL_CONTEXT: there is no context "tst"`},
		{"context use test", map[string]string{"VIGIL_ADDR": "x:1"}, 0, "VIGIL_ADDR is set and wins over it"},
		{"context show --servers", nil, 0, "10.1.0.1:7420\n"},
		{"context remove test", nil, 0, "context test is forgotten"},
		{"context remove test", nil, 3, `there is no context "test": there is prod`},
		{"context show --servers", nil, 0, "127.0.0.1:7420\n"},
	} {
		code, text := do(step.env, strings.Fields(step.args)...)
		if code != step.code || !strings.Contains(text, step.says) {
			t.Errorf("vigil %s with %v: exit code %d, %q; want %d, %q", step.args, step.env, code, text,
				step.code, step.says)
		}
	}
	broken := "selected: [x\n"
	if err := os.WriteFile(filepath.Join(home, "vigil", "contexts.yaml"), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, text := do(nil, "context", "set", "x", "10.0.0.1:7420"); code != 2 ||
		!strings.Contains(text, "contexts.yaml:1:") ||
		!strings.Contains(text, "mend the file or remove it") {
		t.Errorf("a broken file: exit code %d, %q", code, text)
	}
	if code, text := do(map[string]string{"VIGIL_ADDR": "10.2.0.1:7420"}, "context", "show", "--servers"); code != 0 {
		t.Errorf("a broken file that is not needed is in the way: %d, %q", code, text)
	}
}

// founded founds a cluster, and has use run a command against it with a token for a user, while its server runs.
func founded(t *testing.T, use func(addr, token string)) {
	t.Helper()
	set := conf.DefaultServer()
	set.ID, set.DataDir, set.Addr, set.RaftAddr, set.LogLevel = "s1", t.TempDir(), freeAddr(t), freeAddr(t), "error"
	set.HasIdentity("")
	if err := set.Check(); err != nil {
		t.Fatal(err)
	}
	err := serve.Found(t.Context(), serve.Founding{Conf: set, Admin: "ann", Dir: trust.Dir(t.TempDir())},
		func(ctx context.Context, admin *client.Client) error {
			members := vigilv1.NewTrustClient(admin)
			if _, err := members.PutUser(ctx, &vigilv1.PutUserRequest{User: "ben",
				Bindings: []*vigilv1.Binding{{Role: "admin", Room: "*"}}}); err != nil {
				return err
			}
			made, err := members.CreateToken(ctx, &vigilv1.CreateTokenRequest{Role: "user", Name: "ben",
				Ttl: durationpb.New(time.Hour)})
			if err != nil {
				return err
			}
			token, err := join.Made(made, []string{set.AdvertiseAddr})
			if err == nil {
				use(set.AdvertiseAddr, token.String())
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
}

// New addresses leave who one is there alone, and no other cluster takes its place: the key may be an admin's only one.
func TestContextSetKeepsTheIdentity(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	do := func(args ...string) (int, string) {
		t.Helper()
		code, out, errs := terminalRun{env: map[string]string{"XDG_CONFIG_HOME": home}}.do(t, args...)
		return code, out + errs
	}
	must := func(args ...string) string {
		t.Helper()
		code, text := do(args...)
		if code != 0 {
			t.Fatalf("vigil %s: exit code %d, %s", args[0], code, text)
		}
		return text
	}
	founded(t, func(_, token string) { must("login", token, "--user", "ben") })
	dir := filepath.Join(home, "vigil", "identity", "vigil")
	files := func() (all string) {
		for _, name := range []string{"leaf.key", "roots.crt"} {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all += string(text)
		}
		return all
	}
	kept := files()
	if text := must("context", "set", "vigil", "10.1.0.1:7420"); !strings.Contains(text, "your identity there stays") {
		t.Errorf("context set says %q", text)
	}
	if text := must("context", "show", "--identity"); text != dir+"\n" {
		t.Errorf("the identity is %q", text)
	}
	if text := must("context", "show", "--servers"); text != "10.1.0.1:7420\n" {
		t.Errorf("the servers are %q", text)
	}
	founded(t, func(addr, token string) {
		refused := func(when, remedy string) {
			t.Helper()
			if code, text := do("login", token, "--user", "ben"); code != cli.ExitConflict || !strings.Contains(text, remedy) {
				t.Errorf("%s, a login to another cluster: exit code %d, %s", when, code, text)
			}
			if files() != kept {
				t.Fatalf("%s, another cluster has taken the place of the identity", when)
			}
		}
		refused("with other servers", "logout --context vigil")
		must("context", "set", "vigil", addr)
		refused("with the servers of the other cluster", "another cluster")
		must("context", "remove", "vigil")
		refused("without the context", "no context names")
		must("login", token, "--user", "ben", "--name", "other") // no refusal has used the token up
	})
	if files() != kept {
		t.Error("a login under another name has changed the first identity")
	}
}

// A command asks the servers of the selected context.
func TestN05CommandsAskTheSelectedContext(t *testing.T) {
	s := newCanned(t)
	s.status = &vigilv1.StatusResponse{ClusterId: "the-one"}
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	if code, _, errs := (terminalRun{env: env}).do(t, "context", "set", "mine", "http://"+s.addr); code != 0 {
		t.Fatal(errs)
	}
	if code, out, errs := (terminalRun{env: env}).do(t, "status"); code != 0 || !strings.Contains(out, "the-one") {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}

// Where every address refuses, a person is told so within some seconds, and what to do; a time that
// was given is kept, and so is the patience of agents.
func TestN04NoServerIsSaidSoon(t *testing.T) {
	t.Parallel()
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	if code, _, errs := (terminalRun{env: env}).do(t, "context", "set", "old", freeAddr(t), freeAddr(t)); code != 0 {
		t.Fatal(errs)
	}
	for _, tt := range []struct {
		args, says string
		env        map[string]string
	}{
		{"status", "are right: these are the servers of context old; `vigil context list`", env},
		{"events -f", "context old", env},
		{"task list --addr " + freeAddr(t), "they are from --addr", env},
		{"agent list", "they are from VIGIL_ADDR", map[string]string{"VIGIL_ADDR": "http://" + freeAddr(t)}},
	} {
		began := time.Now()
		code, _, errs := terminalRun{env: tt.env}.do(t, strings.Fields(tt.args)...)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("vigil %s took %s", tt.args, took)
		}
		if code != 5 || !strings.Contains(errs, "no server could be reached at") || !strings.Contains(errs, tt.says) {
			t.Errorf("vigil %s: exit code %d, %q, want %q", tt.args, code, errs, tt.says)
		}
	}
	began := time.Now()
	code, _, errs := terminalRun{env: env}.do(t, "status", "--timeout", "2s")
	if took := time.Since(began); code != 5 || took < 2*time.Second {
		t.Errorf("--timeout 2s: exit code %d after %s, %q", code, took, errs)
	}
	agent := map[string]string{"VIGIL_ADDR": freeAddr(t), "VIGIL_AGENT": "web/a", "VIGIL_INCARNATION": "1",
		"VIGIL_TOKEN": "x"}
	began = time.Now()
	code, _, errs = terminalRun{env: agent}.do(t, "declare", "healthy", "--timeout", "2s")
	if took := time.Since(began); code != 5 || took < 2*time.Second {
		t.Errorf("an agent: exit code %d after %s, %q", code, took, errs)
	}
}

// With nothing said at all, the remedy is a demo or the address.
func TestN04NothingWasSaid(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:7420")
	if err != nil {
		t.Skip("something listens at the usual port: ", err)
	}
	l.Close()
	code, _, errs := terminalRun{env: map[string]string{}}.do(t, "status")
	for _, want := range []string{"127.0.0.1:7420", "`vigil dev`", "--addr HOST:PORT",
		"`vigil context set NAME HOST:PORT`"} {
		if code != 5 || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, %q lacks %q", code, errs, want)
		}
	}
}
