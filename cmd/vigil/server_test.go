package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"vigil/cluster"
	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
)

// plain takes the places out of a configuration, so that two can be compared.
func plain(f *serverFile) serverFile {
	c := *f
	for _, v := range []*spanValue{&c.Timing.Heartbeat, &c.Timing.LeaderLease, &c.Timing.Commit, &c.Timing.Disk, &c.Timing.BeatGather} {
		v.at = nil
	}
	for _, v := range []*countValue{&c.Limits.Beats, &c.Limits.SnapshotEntries, &c.Limits.TrailingLogs} {
		v.at = nil
	}
	for _, v := range []*sizeValue{&c.MemoryLimit, &c.Limits.EntryBytes, &c.Limits.SnapshotBytes} {
		v.at = nil
	}
	if len(c.Peers) == 0 {
		c.Peers = nil
	}
	if len(c.Join) == 0 {
		c.Join = nil
	}
	if len(c.Settings) == 0 {
		c.Settings = nil
	}
	if len(c.Watchdog) == 0 {
		c.Watchdog = nil
	}
	if len(c.HTTPHosts) == 0 {
		c.HTTPHosts = nil
	}
	if len(c.Notify) == 0 {
		c.Notify = nil
	}
	return c
}

func TestServerFileShowsTheDefaults(t *testing.T) {
	name := filepath.Join("..", "..", "configs", "server.yaml")
	f, err := readServerFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plain(f), plain(defaultServerFile()); !reflect.DeepEqual(got, want) {
		t.Errorf("configs/server.yaml says\n%+v\nthe defaults are\n%+v", got, want)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := yaml.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	missing(t, "", reflect.TypeFor[serverFile](), keys)
}

// missing complains about keys of the configuration that the example does not show.
func missing(t *testing.T, under string, of reflect.Type, keys map[string]any) {
	for i := range of.NumField() {
		key := of.Field(i).Tag.Get("yaml")
		v, there := keys[key]
		if !there {
			t.Errorf("configs/server.yaml lacks the key %s%s", under, key)
		}
		name := of.Field(i).Type.Name()
		if inner, ok := v.(map[string]any); ok && (strings.HasPrefix(name, "server") || name == "gossipFile") {
			missing(t, key+".", of.Field(i).Type, inner)
		}
	}
}

func TestServerFileMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"unknown key", "id: s1\nadress: x\n", `f.yaml:2:1: unknown key "adress"`},
		{"unknown key below another", "timing:\n  hartbeat: 1s\n", `f.yaml:2:3: unknown key "hartbeat"`},
		{"key twice", "id: a\nid: b\n", "f.yaml:2:1: "},
		{"no duration", "timing:\n  disk: soon\n", `f.yaml:2:9: "soon" is not a duration`},
		{"no size", "memory_limit: lots\n", `f.yaml:1:15: "lots" is no size`},
		{"no setting", "settings:\n  tll: 60s\n", `f.yaml:2:8: there is no setting "tll"`},
		{"setting out of range", "settings:\n  ttl: 1ns\n", "f.yaml:2:8: setting ttl"},
		{"settings that clash", "settings:\n  ttl: 2s\n", "f.yaml:2:8: ttl 2s is too short for stop_grace 5s"},
		{"two documents", "id: a\n---\nid: b\n", "f.yaml:3:3: a second document"},
		{"not YAML", "id: [\n", "f.yaml:1:"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parseServerFile("f.yaml", tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || cli.ExitCode(err) != cli.ExitUsage {
				t.Fatalf("got %v (exit code %d), want %q", err, cli.ExitCode(err), tt.want)
			}
		})
	}
}

func TestServerSeedsSettings(t *testing.T) {
	f, err := parseServerFile("f.yaml", "settings:\n  ttl: 90s\n  starts_per_second: 7\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []noun.KV{{Key: "starts_per_second", Value: "7"}, {Key: "ttl", Value: "90s"}}
	if got := f.clusterConfig().Seed; !reflect.DeepEqual(got, want) {
		t.Fatalf("seeds %v, want %v", got, want)
	}
}

func TestServerRefusesWrongUse(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no id", nil, cli.ExitUsage, "no id"},
		{"listens everywhere", []string{"--id", "a", "--addr", ":7420"}, cli.ExitUsage, "advertise_addr"},
		{"no address", []string{"--id", "a", "--addr", "7420"}, cli.ExitUsage, "host:port"},
		{"unknown peer form", []string{"--id", "a", "--peers", "b"}, cli.ExitUsage, "id=host:port"},
		{"not among the peers", []string{"--id", "a", "--peers", "b=127.0.0.1:1,c=127.0.0.1:2"}, cli.ExitUsage, "not among the peers"},
		{"peers missing", []string{"--id", "a", "--peers", "a=127.0.0.1:7421", "--bootstrap-expect", "3"}, cli.ExitUsage, "bootstrap_expect is 3"},
		{"joins and founds", []string{"--id", "a", "--join", "x:1", "--bootstrap-expect", "1"}, cli.ExitUsage, "exclude each other"},
		{"log level", []string{"--id", "a", "--log-level", "loud"}, cli.ExitUsage, "log_level"},
		{"no file", []string{"--config", "nowhere.yaml"}, cli.ExitUsage, "nowhere.yaml"},
		{"address in use", []string{"--id", "a", "--addr", busy.Addr().String(), "--bootstrap-expect", "1"}, cli.ExitFailed, "address already in use"},
		{"unknown verb", []string{"pers"}, cli.ExitUsage, "did you mean peers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"server"}, tt.args...), strings.NewReader(""), &out, &errs)
			if code != tt.code || !strings.Contains(errs.String(), tt.want) {
				t.Fatalf("exit code %d, said %q; want %d and %q", code, errs.String(), tt.code, tt.want)
			}
		})
	}
}

func TestServerFlagsWinOverTheFile(t *testing.T) {
	f, err := parseServerFile("f.yaml", "id: a\ndata_dir: here\nlog_level: warn\n")
	if err != nil {
		t.Fatal(err)
	}
	f.override(&serverFile{ID: "b", DataDir: "there", LogLevel: "debug"}, func(name string) bool { return name == "data-dir" })
	if f.ID != "a" || f.DataDir != "there" || f.LogLevel != "warn" {
		t.Fatalf("got id %q, data_dir %q, log_level %q", f.ID, f.DataDir, f.LogLevel)
	}
}

func TestServerExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
	}{
		{nil, 0}, {logstore.ErrDiskStuck, cli.ExitFailed}, {logstore.ErrInUse, cli.ExitFailed},
		{fmt.Errorf("run: %w", record.ErrUnknown), cli.ExitUnknown},
		{fmt.Errorf("run: %w", cluster.ErrBrokenInvariant), cli.ExitUnknown},
	} {
		if got := cli.ExitCode(serverError(tt.err)); got != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.err, got, tt.code)
		}
	}
}
