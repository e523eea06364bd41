package runner

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"vigil/agentd/proc"
	"vigil/agentd/shim"
)

// Life is what an order says about the life to start.
type Life struct {
	Addr        string // API addresses of the servers, separated by commas
	Room, Role  string
	Agent       string // room/role or room/role.2
	Incarnation string // decimal, the number that calls carry
	Resume      string
	Home        string // of the agent, when it has an account of its own
	Params      map[string]string
	Files       string // folder of the agent outside of the one where it starts
}

// Command is what to start.
type Command struct {
	Path       string
	Args       []string // without the program's name
	Dir        string   // empty: a folder of the agent's own
	Env        []string // complete but for the marks of package proc
	Credential *syscall.Credential
	Own        bool // it runs as the agent's own account; Credential is nil
	Sudo       bool
	Secrets    map[string]string // files of this host by the variables that name a copy of them
	StopGrace  time.Duration     // 0: as ordered
	Limits     proc.Limits
	Kind       string // KindExec or KindTmux
	PTY        bool
	RunLimit   time.Duration // 0: none
	Usage      []shim.UsageRule
	Telemetry  bool
}

// Command fills in the values. The error is a sentence that says what is wrong
// with the order or with the host, for the start report.
func (s *Set) Command(name string, life Life) (Command, error) {
	r := s.byName[name]
	if r == nil {
		have := "none"
		if names := s.Names(); len(names) > 0 {
			have = strings.Join(names, ", ")
		}
		return Command{}, fmt.Errorf("runner %q is not declared on this host (declared: %s)", name, have)
	}
	values, err := r.values(life)
	if err != nil {
		return Command{}, err
	}
	list := r.fresh
	if life.Resume != "" {
		if r.resumed != nil && !r.resumed.MatchString(life.Resume) {
			return Command{},
				fmt.Errorf("the resume value of the agent does not match the pattern that runner %q has for it; "+
					"start it without: vigil agent start %s --fresh", name, life.Agent)
		}
		list = r.resume
	}
	args := make([]string, 0, len(r.args)+len(list))
	for _, t := range slices.Concat(r.args, list) {
		args = append(args, t.fill(values))
		if strings.ContainsRune(args[len(args)-1], 0) {
			return Command{}, fmt.Errorf("argument %d of runner %q would hold a zero byte", len(args)-1, name)
		}
	}
	if strings.ContainsRune(life.Resume, 0) {
		return Command{}, fmt.Errorf("the resume value holds a zero byte")
	}
	return Command{Path: r.path, Args: args, Dir: r.Directory, Env: r.environment(life, s.tools),
		Credential: r.credential(), Own: r.own(),
		Sudo: r.Sudo, Secrets: r.Credentials, StopGrace: r.StopGrace, Limits: r.Limits,
		Kind: r.kind(), PTY: r.PTY, RunLimit: r.RunLimit, Usage: r.usage(),
		Telemetry: r.Telemetry}, nil
}

func (r *compiled) kind() string {
	if r.Kind == "" {
		return KindExec
	}
	return r.Kind
}

func (r *compiled) usage() []shim.UsageRule {
	var rules []shim.UsageRule
	for _, u := range r.UsageLimits {
		rules = append(rules, shim.UsageRule{Code: u.Code, Pattern: u.Pattern, After: u.After})
	}
	return rules
}

// values gives every placeholder its value.
func (r *compiled) values(life Life) (map[string]string, error) {
	values := map[string]string{
		"VIGIL_ADDR": life.Addr, "VIGIL_ROOM": life.Room, "VIGIL_ROLE": life.Role, "VIGIL_AGENT": life.Agent,
		"VIGIL_INCARNATION": life.Incarnation, "VIGIL_RESUME": life.Resume, "VIGIL_FILES": life.Files,
	}
	for _, name := range slices.Sorted(maps.Keys(life.Params)) {
		value, re := life.Params[name], r.params[name]
		switch {
		case re == nil:
			return nil, fmt.Errorf("parameter %q is not declared by runner %q", name, r.Name)
		case len(value) > MaxValue || !utf8.ValidString(value) || strings.ContainsRune(value, 0):
			return nil, fmt.Errorf("parameter %q of runner %q is not text of at most %d bytes", name, r.Name, MaxValue)
		case !re.MatchString(value):
			return nil, fmt.Errorf("parameter %q of runner %q does not match its pattern %s", name, r.Name,
				r.pattern(name))
		}
		values["param."+name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		if _, given := life.Params[name]; given {
			continue
		}
		if r.Params[name].Default == nil {
			return nil, fmt.Errorf("parameter %q of runner %q has no default and the order brings none", name, r.Name)
		}
		values["param."+name] = *r.Params[name].Default
	}
	return values, nil
}

func (r *compiled) pattern(param string) string {
	if p := r.Params[param].Pattern; p != "" {
		return p
	}
	return DefaultPattern
}

// environment gives what is allowed through, then what is fixed, then vigil's own.
func (r *compiled) environment(life Life, tools string) []string {
	set := r.variables(life, tools)
	maps.Copy(set, map[string]string{
		"VIGIL_ADDR": life.Addr, "VIGIL_ROOM": life.Room, "VIGIL_ROLE": life.Role, "VIGIL_AGENT": life.Agent,
		"VIGIL_INCARNATION": life.Incarnation, "VIGIL_RESUME": life.Resume, "VIGIL_FILES": life.Files,
	})
	if r.Directory != "" { // others may work there, too
		set["VIGIL_DIRECTORY"] = r.Directory
	}
	env := make([]string, 0, len(set))
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// variables are those that a life gets without what vigil itself tells it.
func (r *compiled) variables(life Life, tools string) map[string]string {
	allow := r.EnvAllow
	if allow == nil {
		allow = DefaultEnvAllow()
	}
	set := map[string]string{}
	for _, name := range allow {
		if value, ok := os.LookupEnv(name); ok {
			set[name] = value
		}
	}
	if a := r.account; a != nil {
		home, name := a.home, a.name
		if a.own { // it has a number only
			home, name = life.Home, life.Agent[strings.IndexByte(life.Agent, '/')+1:]
		}
		for name, value := range map[string]string{"HOME": home, "USER": name, "LOGNAME": name} {
			if a.credential != nil || set[name] == "" { // under its own account the daemon's environment knows better
				set[name] = value
			}
		}
	}
	if r.Telemetry {
		maps.Copy(set, telemetry(life))
	}
	maps.Copy(set, r.Env)
	if tools != "" {
		set["PATH"] = cmp.Or(set["PATH"], SearchPath)
		if !slices.Contains(filepath.SplitList(set["PATH"]), tools) {
			set["PATH"] += string(filepath.ListSeparator) + tools
		}
	}
	return set
}

// telemetry are the variables that make known AI tools, and programs with an OpenTelemetry SDK, send their
// telemetry where agentd takes it. Where that is and the token follow when the life is started. No prompt is
// sent. What a runner's env says wins.
func telemetry(life Life) map[string]string {
	return map[string]string{
		"CLAUDE_CODE_ENABLE_TELEMETRY": "1",
		"OTEL_METRICS_EXPORTER":        "otlp",
		"OTEL_LOGS_EXPORTER":           "otlp",
		"OTEL_EXPORTER_OTLP_PROTOCOL":  "http/protobuf",
		"OTEL_METRIC_EXPORT_INTERVAL":  "15000", // ms, as the next one
		"OTEL_LOGS_EXPORT_INTERVAL":    "5000",
		"OTEL_RESOURCE_ATTRIBUTES": fmt.Sprintf("vigil.room=%s,vigil.role=%s,vigil.agent=%s,vigil.incarnation=%s",
			life.Room, life.Role, life.Agent, life.Incarnation),
		"GEMINI_TELEMETRY_ENABLED":       "true",
		"GEMINI_TELEMETRY_TARGET":        "local",
		"GEMINI_TELEMETRY_USE_COLLECTOR": "true",
		"GEMINI_TELEMETRY_OTLP_PROTOCOL": "http",
		"GEMINI_TELEMETRY_LOG_PROMPTS":   "false",
	}
}
