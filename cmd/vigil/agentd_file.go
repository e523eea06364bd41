package main

import (
	"fmt"
	"os"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"vigil/agentd"
	"vigil/agentd/proc"
	"vigil/agentd/runner"
)

// agentdFile is the configuration of `vigil agentd`; configs/agentd.yaml explains
// every key.
type agentdFile struct {
	Servers       []string          `yaml:"servers"`
	DataDir       string            `yaml:"data_dir"`
	Name          string            `yaml:"name"`
	Labels        map[string]string `yaml:"labels"`
	Capacity      countValue        `yaml:"capacity"`
	Metrics       string            `yaml:"metrics"`
	LogLevel      string            `yaml:"log_level"`
	LogJSON       bool              `yaml:"log_json"`
	StopGrace     spanValue         `yaml:"stop_grace"`
	FrozenLimit   spanValue         `yaml:"frozen_limit"`
	ShutdownLimit spanValue         `yaml:"shutdown_limit"`
	Logs          agentdLogs        `yaml:"logs"`
	Runners       []runnerFile      `yaml:"runners"`

	document *document // nil: there is no file
}

type agentdLogs struct {
	MaxBytes sizeValue  `yaml:"max_bytes"`
	Keep     countValue `yaml:"keep"`
}

type runnerFile struct {
	Name      string               `yaml:"name"`
	Program   string               `yaml:"program"`
	Args      []string             `yaml:"args"`
	User      string               `yaml:"user"`
	Directory string               `yaml:"directory"`
	Env       map[string]string    `yaml:"env"`
	EnvAllow  []string             `yaml:"env_allow"`
	Params    map[string]paramFile `yaml:"params"`
	StopGrace spanValue            `yaml:"stop_grace"`
	Limits    limitsFile           `yaml:"limits"`
}

type paramFile struct {
	Pattern string  `yaml:"pattern"`
	Default *string `yaml:"default"`
}

type limitsFile struct {
	OpenFiles    countValue `yaml:"open_files"`
	AddressSpace sizeValue  `yaml:"address_space"`
	CoreSize     sizeValue  `yaml:"core_size"`
}

// defaultAgentdFile is the configuration without a file.
func defaultAgentdFile() *agentdFile {
	return &agentdFile{
		Servers: []string{defaultAddr}, DataDir: "vigil-agentd", LogLevel: "info",
		StopGrace:     spanValue{span: agentd.DefaultStopGrace},
		FrozenLimit:   spanValue{span: agentd.DefaultFrozenLimit},
		ShutdownLimit: spanValue{span: agentd.DefaultShutdownLimit},
		Logs:          agentdLogs{MaxBytes: sizeValue{n: agentd.DefaultLogBytes}, Keep: countValue{n: agentd.DefaultLogKeep}},
	}
}

// readAgentdFile reads a configuration over the defaults. It names programs that
// will run, so nobody but its owner may be able to write to it.
func readAgentdFile(name string) (*agentdFile, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usagef("read configuration: %w", err)
	}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0 {
		return nil, usagef("read configuration: %s has mode %#o and names programs to run: anybody on this host could change it; chmod o-w %s",
			name, info.Mode().Perm(), name)
	}
	return parseAgentdFile(name, string(text))
}

func parseAgentdFile(name, text string) (*agentdFile, error) {
	f := defaultAgentdFile()
	parsed, err := parser.ParseBytes([]byte(text), 0)
	if err != nil {
		return nil, misread(name, text, err)
	}
	for _, doc := range parsed.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentGroupType {
			continue
		}
		if f.document != nil {
			return nil, placed(name, text, doc.Body.GetToken(), "a second document: agentd has one configuration")
		}
		f.document = &document{file: name, text: text, body: doc.Body}
		if err := f.document.decode(f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// check tells what is wrong before anything is opened, in the words of the file.
func (f *agentdFile) check() error {
	switch {
	case hclog.LevelFromString(f.LogLevel) == hclog.NoLevel:
		return usagef("log_level %q is unknown: write trace, debug, info, warn or error", f.LogLevel)
	case f.Metrics != "" && !loopback(f.Metrics):
		return usagef("metrics %q: give a loopback address such as 127.0.0.1:7430; there is no password", f.Metrics)
	case f.DataDir == "":
		return usagef("data_dir is empty: name a directory of agentd's own")
	}
	for _, s := range []struct {
		key   string
		value spanValue
		most  time.Duration
	}{{"stop_grace", f.StopGrace, agentd.MaxStopGrace}, {"frozen_limit", f.FrozenLimit, 24 * time.Hour},
		{"shutdown_limit", f.ShutdownLimit, time.Hour}} {
		if s.value.span <= 0 || s.value.span > s.most {
			return f.wrong(s.value.at, fmt.Sprintf("%s is %s: give more than 0 and at most %s", s.key, s.value.span, s.most))
		}
	}
	if f.Logs.MaxBytes.n <= 0 {
		return f.wrong(f.Logs.MaxBytes.at, "logs.max_bytes: give a size such as 10MiB")
	}
	if f.Logs.Keep.n == 0 || f.Logs.Keep.n > 100 {
		return f.wrong(f.Logs.Keep.at, fmt.Sprintf("logs.keep is %d: keep 1 to 100 files", f.Logs.Keep.n))
	}
	return nil
}

// wrong is a mistake at a place, when there is a file.
func (f *agentdFile) wrong(at *token.Token, message string) error {
	if f.document == nil || at == nil {
		return usagef("%s", message)
	}
	return placed(f.document.file, f.document.text, at, message)
}

// config is what the daemon gets.
func (f *agentdFile) config(conn grpc.ClientConnInterface, log hclog.Logger, registerer prometheus.Registerer) agentd.Config {
	conf := agentd.Config{
		DataDir: f.DataDir, Name: f.Name, Labels: f.Labels, Capacity: f.Capacity.n, Conn: conn, Addrs: f.Servers,
		Version: version(), StopGrace: f.StopGrace.span, FrozenLimit: f.FrozenLimit.span, ShutdownLimit: f.ShutdownLimit.span,
		LogBytes: f.Logs.MaxBytes.n, LogKeep: int(f.Logs.Keep.n), Logger: log, Registerer: registerer,
	}
	for _, r := range f.Runners {
		one := runner.Runner{
			Name: r.Name, Program: r.Program, Args: r.Args, User: r.User, Directory: r.Directory, Env: r.Env, EnvAllow: r.EnvAllow,
			StopGrace: r.StopGrace.span, Params: map[string]runner.Param{},
			Limits: proc.Limits{OpenFiles: uint64(r.Limits.OpenFiles.n), AddressSpace: uint64(r.Limits.AddressSpace.n),
				CoreSize: uint64(r.Limits.CoreSize.n)},
		}
		for name, p := range r.Params {
			one.Params[name] = runner.Param{Pattern: p.Pattern, Default: p.Default}
		}
		conf.Runners = append(conf.Runners, one)
	}
	return conf
}

// place finds where a fault stands in the file: at the value that it names, or at
// the nearest thing around it that is there.
func (f *agentdFile) place(fault *runner.Fault) *token.Token {
	node := f.document.body
	for _, step := range append([]any{"runners", fault.Runner}, fault.Path...) {
		inner := below(node, step)
		if inner == nil {
			break
		}
		node = inner
	}
	// A mapping's own token is the colon of its first pair.
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken()
	}
	return node.GetToken()
}

// below gives the value below a key or at an index, nil when there is none.
func below(node ast.Node, step any) ast.Node {
	switch n := node.(type) {
	case *ast.MappingNode:
		for _, pair := range n.Values {
			if pair.Key.GetToken().Value == step {
				return pair.Value
			}
		}
	case *ast.MappingValueNode:
		if n.Key.GetToken().Value == step {
			return n.Value
		}
	case *ast.SequenceNode:
		if i, ok := step.(int); ok && i < len(n.Values) {
			return n.Values[i]
		}
	}
	return nil
}
