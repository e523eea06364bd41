package conf

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vigil/agentd"
	"vigil/agentd/runner"
)

// The example holds every key, and its values are the defaults.
func TestAgentdExampleIsTheDefaults(t *testing.T) {
	f, err := ReadAgentd("../../../configs/agentd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultAgentd().Config(nil, nil, nil)
	want.Labels = map[string]string{}
	if got := f.Config(nil, nil, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("the example gives\n%+v, the defaults are\n%+v", got, want)
	}
	f.HasIdentity()
	if err := f.Check(); err != nil {
		t.Error(err)
	}
	everyKey(t, f.document.text, reflect.TypeFor[Agentd]())
}

func TestAgentdRunnersExample(t *testing.T) {
	f, err := ReadAgentd("../../../configs/agentd-runners.yaml")
	if err != nil {
		t.Fatal(err)
	}
	everyKey(t, f.document.text, reflect.TypeFor[runnerFile]())
	runners := f.runners()
	for i := range runners {
		if runners[i].User != "" || runners[i].Sudo {
			t.Errorf("S4: agents of runner %s share the account %q, sudo: %v", runners[i].Name, runners[i].User,
				runners[i].Sudo)
		}
		runners[i].User = runner.SameUser() // without root there are no others
	}
	set, err := runner.Compile(runners, runner.Host{})
	if err != nil {
		t.Fatal(err)
	}
	command, err := set.Command("sum-files", runner.Life{Params: map[string]string{"file": "/srv/files/a"}})
	if err != nil || command.Args[3] != "/srv/files/a" {
		t.Errorf("%q, %v", command.Args, err)
	}
	if _, err := set.Command("sum-files",
		runner.Life{Params: map[string]string{"file": "/srv/files/../../etc/passwd"}}); err == nil {
		t.Error("a path that leaves the folder was accepted")
	}
}

// everyKey fails for keys of a file's type that the text does not explain.
func everyKey(t *testing.T, text string, of reflect.Type) {
	t.Helper()
	for field := range of.Fields() {
		key := field.Tag.Get("yaml")
		if key != "" && !strings.Contains(text, key+":") {
			t.Errorf("key %s is missing in the example", key)
		}
		inner := field.Type
		for inner.Kind() == reflect.Map || inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if key != "" && inner.Kind() == reflect.Struct && inner != reflect.TypeFor[runnerFile]() {
			everyKey(t, text, inner)
		}
	}
}

func TestAgentdFileThatAnybodyMayChangeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agentd.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAgentd(file); err == nil || !strings.Contains(err.Error(), "chmod o-w") {
		t.Errorf("error %v", err)
	}
	if os.Geteuid() != 0 {
		return // only root can give files away
	}
	for _, c := range []struct {
		owner, group int
		mode         os.FileMode
		want         string
	}{{0, 12345, 0o664, "chmod g-w"}, {12345, 12345, 0o600, "chown"}, {0, 0, 0o664, ""}} {
		if err := errors.Join(os.Chown(file, c.owner, c.group), os.Chmod(file, c.mode)); err != nil {
			t.Fatal(err)
		}
		_, err := ReadAgentd(file)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}

func TestS12AgentdRefusesAHostNameThatAShellWouldRead(t *testing.T) {
	for _, name := range []string{"w1; rm -rf ~", "$(id)", "`id`", "-x", "a b", "a'b"} {
		f := DefaultAgentd()
		f.Name = name
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), "name") ||
			!strings.Contains(err.Error(), "letters") {
			t.Errorf("name %q: %v, want a refusal with a remedy", name, err)
		}
	}
	f := DefaultAgentd()
	f.Insecure, f.Name = true, "W1.rack-2_b.example.net"
	if err := f.Check(); err != nil {
		t.Errorf("a common name: %v", err)
	}
}

// What an error text recommends is accepted: 0B is no limit.
func TestN33SizesMayBeInBytes(t *testing.T) {
	for text, want := range map[string]int64{"0B": 0, "0": 0, "512B": 512, "12 B": 12, "1KiB": 1024,
		"256MiB": 256 << 20} {
		f, err := parseAgentdFile("a.yaml", "insecure: true\nmin_free_memory: "+text+"\n")
		if err != nil || f.MinFreeMemory.N != want || f.Check() != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"B", "-1B", "1BB", "1KiBB", "1KB", "KiB"} {
		if _, err := parseAgentdFile("a.yaml", "min_free_memory: "+text+"\n"); err == nil {
			t.Errorf("%s was accepted", text)
		}
	}
}

// A broken runner costs itself and no other, and people are told why.
func TestBrokenRunnerIsNotOffered(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml": "name: a\nprogram: sh\nuser: " + account + "\n",
		"b.yaml": "name: b\nprogramm: sh\n",
		"c.yaml": "name: see\nprogram: /no/such\nuser: " + account + "\n",
		"d.yaml": "name: a\nprogram: true\nuser: " + account + "\n", "e.yaml": "name: e\nprogram: sh\nuser: " +
			account + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := DefaultAgentd()
	f.RunnersDir = dir
	if err := f.ReadRunners(); err != nil {
		t.Fatal(err)
	}
	conf := f.Config(nil, nil, nil)
	set, err := runner.Compile(conf.Runners, runner.Host{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(set.Names(), " "); got != "a e" {
		t.Errorf("offered: %s", got)
	}
	for name, want := range map[string]string{"b": "b.yaml:2:1: unknown key",
		"see": "c.yaml:2:10: /no/such does not exist", "a": "d.yaml:1:7: \"a\" is declared twice"} {
		if !slices.ContainsFunc(conf.Broken, func(b agentd.Broken) bool {
			return b.Runner == name && strings.HasPrefix(b.Why, filepath.Join(dir, want))
		}) {
			t.Errorf("%s: broken %v", name, conf.Broken)
		}
	}
}

// account is that of this process as a runner names it: as root it must.
var account = strconv.Quote(runner.SameUser())
