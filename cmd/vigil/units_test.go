package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"vigil/agentd"
	"vigil/cmd/vigil/cli"
)

// unit gives the settings of a unit of systemd; the values of a key that stands there more than
// once are joined.
func unit(t *testing.T, name string) (text string, settings map[string]string) {
	t.Helper()
	b, err := os.ReadFile("../../configs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	settings = map[string]string{}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			section = line
		case !ok || section == "" || strings.TrimSpace(key) != key:
			t.Errorf("%s: %q is no setting of a section", name, line)
		case settings[key] != "":
			settings[key] += " " + value
		default:
			settings[key] = value
		}
	}
	return string(b), settings
}

// The server's unit starts a server as an account of its own, goes on trying, stops at what does
// not get better, and keeps its data where the flags say.
func TestN11UnitOfAServer(t *testing.T) {
	t.Parallel()
	_, got := unit(t, "vigil-server.service")
	for key, want := range map[string]string{"User": "vigil", "Restart": "always", "StartLimitIntervalSec": "0",
		// Else a Go program that is aborted exits with 2, for which it is not restarted.
		"Environment": "GOTRACEBACK=crash", "LimitCORE": "0",
		"StateDirectoryMode": "0700", "After": "network-online.target", "WantedBy": "multi-user.target",
		"RestartPreventExitStatus": fmt.Sprint(cli.ExitUsage, cli.ExitUnknown)} {
		if got[key] != want {
			t.Errorf("%s=%s, want %s", key, got[key], want)
		}
	}
	words := strings.Fields(got["ExecStart"])
	if len(words) < 2 || words[1] != "server" {
		t.Fatalf("ExecStart=%s", got["ExecStart"])
	}
	cmd, _, err := newRootCmd(&cli.App{Getenv: func(string) string { return "" }}).Find([]string{"server"})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(words[2:]); err != nil {
		t.Error(err)
	}
	if dir := cmd.Flag("data-dir").Value.String(); dir != "/var/lib/"+got["StateDirectory"] {
		t.Errorf("--data-dir %s, StateDirectory=%s", dir, got["StateDirectory"])
	}
}

// The host's unit goes on trying whatever ends agentd, a panic and the watchdog too, and stops at a configuration
// that is wrong.
func TestN11UnitOfAHostGoesOnTrying(t *testing.T) {
	t.Parallel()
	text, got := unit(t, "vigil-agentd.service")
	for key, want := range map[string]string{"Restart": "always", "RestartSec": "1s", "StartLimitIntervalSec": "0",
		"Environment": "HOME=/root GOTRACEBACK=crash", "LimitCORE": "0:infinity", // agents inherit it
		"RestartPreventExitStatus": fmt.Sprint(cli.ExitUsage)} {
		if got[key] != want {
			t.Errorf("%s=%s, want %s", key, got[key], want)
		}
	}
	// systemd ignores it elsewhere.
	if before, _, _ := strings.Cut(text, "[Service]"); !strings.Contains(before, "\nStartLimitIntervalSec=0\n") {
		t.Error("StartLimitIntervalSec is not in [Unit]")
	}
}

// What agentd's unit takes away from agents is little, and nothing that they see files through.
func TestN11UnitOfAHostLeavesAgentsTheirFiles(t *testing.T) {
	t.Parallel()
	text, got := unit(t, "vigil-agentd.service")
	for _, key := range []string{"ProtectSystem", "ProtectHome", "PrivateTmp", "ProtectProc",
		"ProtectKernelTunables", "ProtectControlGroups",
		"PrivateDevices", "ProtectClock", "RestrictNamespaces", "NoNewPrivileges", "MemoryDenyWriteExecute",
		"UMask", "User"} {
		if got[key] != "" {
			t.Errorf("%s=%s, which agents inherit", key, got[key])
		}
		if !strings.Contains(text, key+"=") {
			t.Errorf("the unit does not say why it leaves %s= out", key)
		}
	}
	if !strings.HasPrefix(got["SystemCallFilter"], "~") || !strings.HasPrefix(got["CapabilityBoundingSet"], "~") {
		t.Errorf("SystemCallFilter=%s, CapabilityBoundingSet=%s, want what is forbidden", got["SystemCallFilter"],
			got["CapabilityBoundingSet"])
	}
}

// A container of a host ends with agentd: the engine leaves it as long as ends of agents, and words about them, take.
func TestN11ContainersOfHostsHaveTheirGrace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../configs/container/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Command []string
			Grace   string `yaml:"stop_grace_period"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	hosts := 0
	for name, s := range file.Services {
		if len(s.Command) == 0 || s.Command[0] != "agentd" {
			continue
		}
		hosts++
		// Beside the limit: 5 s for what had to be killed to go, 10 s for the good-bye, and what the engine takes.
		if grace, err := time.ParseDuration(s.Grace); err != nil || grace < agentd.DefaultShutdownLimit+20*time.Second {
			t.Errorf("%s: stop_grace_period %q, %v", name, s.Grace, err)
		}
	}
	if hosts == 0 {
		t.Error("there are no hosts")
	}
}

// A reload of a unit is the signal on which what it runs reads its configuration again.
func TestN10UnitsReload(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"vigil-agentd.service", "vigil-server.service"} {
		if _, service := unit(t, name); service["ExecReload"] != "/bin/sh -c 'kill -HUP $MAINPID'" {
			t.Errorf("%s: ExecReload=%s", name, service["ExecReload"])
		}
	}
}

// systemd itself finds nothing that it does not know, and how much each unit is exposed.
func TestN11UnitsBySystemd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("there is no systemd-analyze")
	}
	version, err := exec.Command("systemd-analyze", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	number, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(string(version)))
	for _, tt := range []struct {
		name string
		most float64
		new  []string // keys that older versions ignore with a warning
	}{
		{"vigil-server.service", 2.5, nil},
		{"vigil-agentd.service", 8.2, []string{"DelegateSubgroup"}},
	} {
		text, _ := unit(t, tt.name)
		file := filepath.Join(t.TempDir(), tt.name)
		there := strings.Replace(text, "ExecStart=/usr/local/bin/vigil", "ExecStart=/bin/sh", 1)
		if err := os.WriteFile(file, []byte(there), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput()
		for line := range strings.Lines(string(out)) {
			isNew := slices.ContainsFunc(tt.new, func(key string) bool { return strings.Contains(line, "'"+key+"'") })
			if !isNew || number >= 254 {
				t.Errorf("%s: %s", tt.name, line)
			}
		}
		if err != nil {
			t.Errorf("%s: %v: %s", tt.name, err, out)
		}
		out, err = exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", file).CombinedOutput()
		m := regexp.MustCompile(`Overall exposure level for \S+: ([\d.]+)`).FindSubmatch(out)
		if err != nil || m == nil {
			t.Fatalf("%s: %v: %s", tt.name, err, out)
		}
		if got, err := strconv.ParseFloat(string(m[1]), 64); err != nil || got > tt.most {
			t.Errorf("%s: exposure %s, at most %.1f", tt.name, m[1], tt.most)
		}
		if said := "systemd 252 gives it " + string(m[1]); number == 252 && !strings.Contains(text, said) {
			t.Errorf("%s does not say: %s", tt.name, said)
		}
	}
}
