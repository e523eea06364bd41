//go:build unix

package conf

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"vigil/cluster/gossip"
	"vigil/cmd/vigil/cli"
	"vigil/fsm/noun"
	"vigil/rpc/client"
)

// Server is the configuration of `vigil server`; configs/server.yaml explains
// every key.
type Server struct {
	ID            string `yaml:"id"`
	DataDir       string `yaml:"data_dir"`
	LogStore      string `yaml:"log_store"`
	Addr          string `yaml:"addr"`
	AdvertiseAddr string `yaml:"advertise_addr"`
	RaftAddr      string `yaml:"raft_addr"`
	RaftBind      string `yaml:"raft_bind"`
	Insecure      bool   `yaml:"insecure"`

	Zone    string `yaml:"zone"`
	Standby bool   `yaml:"standby"`

	HTTPHosts []string `yaml:"http_hosts"`
	BasePath  string   `yaml:"base_path"`
	HTTPCert  string   `yaml:"http_cert"`
	HTTPKey   string   `yaml:"http_key"`

	identified bool // see HasIdentity

	Gossip Gossip `yaml:"gossip"`

	Cluster string   `yaml:"cluster"`
	Found   bool     `yaml:"found"`
	Join    []string `yaml:"join"`

	LogLevel    string    `yaml:"log_level"`
	LogJSON     bool      `yaml:"log_json"`
	Debug       bool      `yaml:"debug"`
	MemoryLimit sizeValue `yaml:"memory_limit"`
	OTLP        string    `yaml:"otlp"`

	Timing   serverTiming         `yaml:"timing"`
	Limits   serverLimits         `yaml:"limits"`
	Settings map[string]textValue `yaml:"settings"`
	Watchdog map[string]textValue `yaml:"watchdog"`
	Notify   []notifyFile         `yaml:"notify"`
	Backup   serverBackup         `yaml:"backup"`
}

type serverTiming struct {
	Heartbeat   spanValue `yaml:"heartbeat"`
	LeaderLease spanValue `yaml:"leader_lease"`
	Commit      spanValue `yaml:"commit"`
	Disk        spanValue `yaml:"disk"`
	BeatGather  spanValue `yaml:"beat_gather"`
}

type serverLimits struct {
	EntryBytes      sizeValue  `yaml:"entry_bytes"`
	Beats           countValue `yaml:"beats"`
	SnapshotEntries countValue `yaml:"snapshot_entries"`
	SnapshotBytes   sizeValue  `yaml:"snapshot_bytes"`
	TrailingLogs    countValue `yaml:"trailing_logs"`
}

// DefaultServer is the configuration without a file. Its memory limit lets a
// million agents and a million tasks stay below 2 GiB of resident memory.
func DefaultServer() *Server {
	span := func(d time.Duration) spanValue { return spanValue{Span: d} }
	return &Server{
		DataDir: "vigil-data", Addr: cli.DefaultAddr, RaftAddr: "127.0.0.1:7421",
		LogLevel: "info", MemoryLimit: sizeValue{N: 1792 << 20},
		Timing: serverTiming{
			Heartbeat: span(250 * time.Millisecond), LeaderLease: span(250 * time.Millisecond),
			Commit: span(10 * time.Millisecond), Disk: span(5 * time.Second), BeatGather: span(250 * time.Millisecond),
		},
		Limits: serverLimits{
			EntryBytes: sizeValue{N: 1 << 20}, Beats: countValue{n: 4096}, SnapshotEntries: countValue{n: 32768},
			SnapshotBytes: sizeValue{N: 256 << 20},
		},
		Backup: defaultBackup(),
	}
}

// ReadServer reads a configuration over the defaults. Mistakes are told with
// file, line and column.
func ReadServer(name string) (*Server, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, cli.Usagef("read configuration: %w", err)
	}
	return parseServerFile(name, string(text))
}

// parseServerFile gives what the file says as far as it could be read, also beside Mistakes; nil: it
// is no YAML.
func parseServerFile(name, text string) (*Server, error) {
	f := DefaultServer()
	parsed, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, mistakes(syntax(name, text, err, func() any { return DefaultServer() }))
	}
	var all []error
	for i, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		if i > 0 {
			all = append(all, placed(name, text, doc.Body.GetToken(),
				"a second document: a server has one configuration"))
			break
		}
		all = append(all, (&document{file: name, text: text, body: doc.Body}).decodeAll(f)...)
		if err := f.checkNotify(name, text); err != nil && len(all) == 0 { // else it may miss what was cut
			all = append(all, err)
		}
		all = append(all, f.checkSettings(name, text)...)
		all = append(all, f.checkBackup(name, text)...)
	}
	return f, mistakes(all)
}

// checkSettings finds the settings of a new cluster that it could not take.
func (f *Server) checkSettings(name, text string) (all []error) {
	set := noun.DefaultSettings()
	for _, key := range slices.Sorted(maps.Keys(f.Settings)) {
		v := f.Settings[key]
		if err := set.Set(key, cli.PlainSpan(v.text)); err != nil {
			all = append(all, placed(name, text, v.at, err.Error()))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Watchdog)) {
		v := f.Watchdog[key]
		_, twice := f.Settings["watchdog_"+key]
		switch {
		case !slices.Contains(watchdogKeys(), key):
			all = append(all, placed(name, text, v.at, fmt.Sprintf("unknown key %q below watchdog: write %s",
				key, strings.Join(watchdogKeys(), ", "))))
		case twice:
			all = append(all, placed(name, text, v.at, "watchdog_"+key+" stands below settings too: remove one"))
		default:
			if err := set.Set("watchdog_"+key, cli.PlainSpan(v.text)); err != nil {
				all = append(all, placed(name, text, v.at, err.Error()))
			}
		}
	}
	if err := set.Check(); err != nil && len(all) == 0 {
		all = append(all, placed(name, text, f.clashing(err.Error()), err.Error()))
	}
	return all
}

// clashing finds the value of which a sentence speaks that names two settings which clash: the one
// that it names first, of those that stand in the file.
func (f *Server) clashing(sentence string) (at *token.Token) {
	first := len(sentence)
	for _, part := range []struct {
		prefix string
		values map[string]textValue
	}{{"", f.Settings}, {"watchdog_", f.Watchdog}} {
		for key, v := range part.values {
			place := regexp.MustCompile(`\b` + regexp.QuoteMeta(part.prefix+key) + `\b`).FindStringIndex(sentence)
			if place != nil && place[0] < first {
				first, at = place[0], v.at
			}
		}
	}
	return at
}

// Inspect finds what is wrong with a configuration, and what is worth a second thought, without
// opening or making anything.
func (f *Server) Inspect() (wrong []error, notes []string) {
	if wrong = f.problems(); len(wrong) == 0 { // what follows builds on it
		repl := f.ClusterConfig()
		if err := repl.Validate(); err != nil {
			wrong = append(wrong, Each(err)...)
		}
	}
	if f.Gossip.KeyFile != "" {
		if _, err := gossip.ReadKey(f.Gossip.KeyFile); err != nil {
			wrong = append(wrong, err)
		}
	}
	if _, err := f.WebPair(time.Now()); err != nil && f.HTTPKey != "" { // without a key that is said already
		wrong = append(wrong, err)
	}
	_, lacking := f.Notifiers(nil)
	for _, l := range lacking {
		wrong = append(wrong, l.Err)
	}
	lacks, notes := f.inspectBackup()
	wrong = append(wrong, lacks...)
	if len(f.Join) > 0 {
		if conn, err := client.Open(client.Config{Addrs: f.Join, Name: "server " + f.ID}); err != nil {
			wrong = append(wrong, err)
		} else {
			conn.Close() // it has asked nothing yet
		}
	}
	if err := folderOrNothing("data_dir", f.DataDir); err != nil {
		wrong = append(wrong, err)
	}
	return wrong, notes
}

// sizeValue is a number of bytes with its place; 0: none, or no limit.
type sizeValue struct {
	N  int64
	at *token.Token
}

// UnmarshalYAML takes numbers of bytes, also with KiB, MiB or GiB.
func (v *sizeValue) UnmarshalYAML(node ast.Node) error {
	v.at = node.GetToken()
	text, err := scalar(node, "a size like 256MiB")
	if err != nil {
		return err
	}
	if v.N, err = parseSize(text); err != nil {
		return &valueError{v.at, err.Error()}
	}
	return nil
}

func parseSize(text string) (int64, error) {
	unit := int64(1)
	number := text
	for i, suffix := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = strings.TrimSpace(rest), 1<<(10*(i+1))
		}
	}
	if rest, ok := strings.CutSuffix(number, "B"); ok && unit == 1 {
		number = strings.TrimSpace(rest)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is no size: give a number of bytes, or one with KiB, MiB or GiB", text)
	}
	return n * unit, nil
}
