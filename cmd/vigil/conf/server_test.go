package conf

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
)

// plain takes the places out of a configuration, so that two can be compared.
func plain(f *Server) Server {
	c := *f
	for _, v := range []*spanValue{&c.Timing.Heartbeat, &c.Timing.LeaderLease, &c.Timing.Commit, &c.Timing.Disk,
		&c.Timing.BeatGather} {
		v.at = nil
	}
	for _, v := range []*countValue{&c.Limits.Beats, &c.Limits.SnapshotEntries, &c.Limits.TrailingLogs} {
		v.at = nil
	}
	for _, v := range []*sizeValue{&c.MemoryLimit, &c.Limits.EntryBytes, &c.Limits.SnapshotBytes} {
		v.at = nil
	}
	c.Backup.Every.at, c.Backup.Keep.at, c.Backup.KeepFor.at = nil, nil, nil
	for _, v := range []*textValue{&c.Backup.To, &c.Backup.RecipientsFile, &c.Backup.Endpoint, &c.Backup.Region,
		&c.Backup.CredentialsFile} {
		v.at = nil
	}
	if len(c.Backup.Recipients) == 0 {
		c.Backup.Recipients = nil
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
	name := filepath.Join("..", "..", "..", "configs", "server.yaml")
	f, err := ReadServer(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := plain(f), plain(DefaultServer()); !reflect.DeepEqual(got, want) {
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
	missing(t, "", reflect.TypeFor[Server](), keys)
}

// missing complains about keys of the configuration that the example does not show.
func missing(t *testing.T, under string, of reflect.Type, keys map[string]any) {
	for i := range of.NumField() {
		if !of.Field(i).IsExported() {
			continue
		}
		key := of.Field(i).Tag.Get("yaml")
		v, there := keys[key]
		if !there {
			t.Errorf("configs/server.yaml lacks the key %s%s", under, key)
		}
		name := of.Field(i).Type.Name()
		if inner, ok := v.(map[string]any); ok && (strings.HasPrefix(name, "server") || name == "Gossip") {
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
	if got := f.ClusterConfig().Seed; !reflect.DeepEqual(got, want) {
		t.Fatalf("seeds %v, want %v", got, want)
	}
}

func TestServerFlagsWinOverTheFile(t *testing.T) {
	f, err := parseServerFile("f.yaml", "id: a\ndata_dir: here\nlog_level: warn\n")
	if err != nil {
		t.Fatal(err)
	}
	f.Override(&Server{ID: "b", DataDir: "there", LogLevel: "debug"},
		func(name string) bool { return name == "data-dir" })
	if f.ID != "a" || f.DataDir != "there" || f.LogLevel != "warn" {
		t.Fatalf("got id %q, data_dir %q, log_level %q", f.ID, f.DataDir, f.LogLevel)
	}
}
