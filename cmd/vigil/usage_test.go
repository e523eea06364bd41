package main

import (
	"strings"
	"testing"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/gen/vigilv1"
)

// What somebody mistypes is named, with what was perhaps meant, and never in the words of a parser.
func TestN08MisspeltWordsAreUnderstood(t *testing.T) {
	for args, says := range map[string]string{
		"tsk":                                    "did you mean task or tls or top?",
		"stauts":                                 "did you mean status?",
		"agent lst":                              "did you mean list?",
		"server lst":                             "did you mean list?",
		"server snapshot sav":                    "did you mean save?",
		"dev kil-host":                           "did you mean kill-host?",
		"context us":                             "did you mean use?",
		"undrain h1":                             "did you mean vigil host undrain?",
		"unquarantine 3":                         "did you mean vigil task unquarantine?",
		"task list --stat PENDING":               "--state",
		"task list --colour":                     "there is no flag --colour: see vigil task list --help",
		"status --adr x:1":                       "did you mean --addr?",
		"status --contxt x":                      "did you mean --context?",
		"status --timeot 3s":                     "did you mean --timeout?",
		"apply -c room.yaml":                     "there is no flag -c (did you mean -f, --file?)",
		"server -f server.yaml":                  "there is no flag -f (did you mean -c, --config?)",
		"agentd -f agentd.yaml":                  "there is no flag -f (did you mean -c, --config?)",
		"status --timeout soon":                  `flag --timeout: "soon" is not a duration like 90s, 5m, 1h30m or 2d`,
		"status --timeout 5":                     `flag --timeout: "5" is not a duration like`,
		"status --timeout 1d-3h":                 `"1d-3h" is not a duration`,
		"status --timeout -1d":                   "is negative",
		"status --timeout":                       "flag --timeout needs a value",
		"dev --hosts two":                        `flag --hosts: "two" is not a whole number`,
		"dev --hosts 6":                          "1 to 5 is allowed",
		"dev --seed -1":                          `flag --seed: "-1" is negative: give a whole number from 0`,
		"dev --chaos=perhaps":                    `flag --chaos: "perhaps" is not true or false`,
		"dev --port 99999":                       "flag --port: 99999 is out of range",
		"status --addr 10.0.0.1":                 "--addr: address \"10.0.0.1\": write host:port, for instance 10.0.0.1:7420",
		"status --addr https://10.0.0.1:7420/v1": "write host:port",
		"status --addr http://10.0.0.1:7420/v1/status":     "write host:port",
		"status --addr http://10.0.0.1":                    "write host:port",
		"task show x":                                      "vigil task list",
		"task show 18446744073709551616":                   "18446744073709551616",
		"task show -- -1":                                  "-1",
		"escalation ack soon":                              "soon",
		"mail show x":                                      "x",
		"settings set ttl":                                 "NAME=VALUE",
		"settings set ttl=1s ttl=2s":                       "given twice",
		"task create web":                                  "room/role",
		"task cancel":                                      "choose tasks with --room, --role, --state or --since",
		"task cancel 7 --room web":                         "flag --room: it goes with a choice of tasks, not with task 7",
		"task cancel 7 --dry-run":                          "flag --dry-run: it goes with a choice of tasks",
		"task cancel --room web --if-rev 3":                "write vigil task cancel TASK --if-rev REVISION",
		"task retry --yes":                                 "name a task, see `vigil task list`",
		"task retry --state DONE":                          `flag --state: "DONE" is no state: write QUEUED`,
		"task retry --state COMPLETED":                     "nobody can retry a task that is COMPLETED: write FAILED",
		"task unquarantine --state FAILED":                 "write QUARANTINED",
		"task cancel --since 0s":                           "give a time like 2h or 3d",
		"task cancel --since yesterday":                    `flag --since: "yesterday" is not a duration like`,
		"task cancel --room=":                              "flag --room needs a value",
		"task list --state done":                           `flag --state: "done" is no state: write QUEUED`,
		"task list --limit many":                           `flag --limit: "many" is not a whole number`,
		"task create web/builder x --at soon":              `flag --at: "soon" is not a time: write 15:00`,
		"task create web/builder x --at 2020-01-31":        `flag --at: "2020-01-31" is not a time`,
		"task create web/builder x --at 2020-01-31T15:00":  "is past",
		"task create web/builder x --at 2030-01-31T15:00":  "more than 30 days from now",
		"task create web/builder x --at 15:00 --in 5m":     "[at in]",
		"task create web/builder x --in 31d":               "give up to 720h",
		"task create web/builder x --expect 0s":            "give 1s to 720h",
		"task create web/builder x --priority high":        `flag --priority: "high" is not a whole number`,
		"task create web/builder --file /nowhere":          "give the path of a file that can be read",
		"agent restart":                                    "name an agent, see `vigil agent list`",
		"agent restart --outdated web/builder":             "leave out web/builder or the flag",
		"agent restart web/builder --room web":             "flag --room: it goes with --outdated",
		"agent logs web/builder -n all":                    `flag --lines: "all" is not a whole number`,
		"task create web/builder x --priority 99999999999": `flag --priority: "99999999999" has too many digits`,
		"agent stop web/builder --for 400d":                "flag --for: 400d is not possible, give 1s to 365d",

		"agent list extra":       `vigil agent list takes no arguments, "extra" is one: write vigil agent list`,
		"agent stop":             "name an agent, see `vigil agent list`, or choose with --room or --all",
		"host undrain east west": "vigil host undrain takes 1 argument, not 2: write vigil host undrain HOST",
		"context set prod":       "vigil context set needs at least 2 arguments, there is only 1: write",
		"room delete":            "vigil room delete needs an argument: write vigil room delete ROOM",

		"status --addr 10.0.0.1:99999": `"99999" is not a port: give a number from 1 to 65535`,
		"status --addr 10.0.0.1:api":   `"api" is not a port`,
		"context set x 10.0.0.1:0":     `"0" is not a port`,
		"apply":                        "name the file with -f FILE",
		"apply -f /nowhere":            "give the path of a file that can be read",
		"apply -f /dev/null --prune":   "name the folder with -f",
		"settings set =5":              "NAME=VALUE",
		"task create web/a/b x":        "room/role",
		"context set":                  "write vigil context set NAME HOST:PORT",
		"server add s4":                "write vigil server add ID RAFT-ADDR",
	} {
		code, _, errs := terminalRun{}.do(t, strings.Fields(args)...)
		if code != cli.ExitUsage || !strings.Contains(errs, says) {
			t.Errorf("vigil %s: exit code %d, %q, want %q", args, code, errs, says)
		}
		for _, raw := range []string{"strconv", "time: invalid", "parsing \"", "invalid syntax", "unknown flag",
			"invalid argument", "(s)", "yaml:", "json:", "unmarshal", "unexpected EOF"} {
			if strings.Contains(errs, raw) {
				t.Errorf("vigil %s: %q has words of a parser", args, errs)
			}
		}
	}
}

// The version is asked for as people ask other programs.
func TestN08Version(t *testing.T) {
	_, want, _ := terminalRun{}.do(t, "version")
	if code, out, errs := (terminalRun{}).do(t, "--version"); code != 0 || out != want || out == "" {
		t.Errorf("--version: exit code %d, %q, %q, want %q", code, out, errs, want)
	}
}

// Days are understood wherever a duration is read.
func TestN08Days(t *testing.T) {
	for text, want := range map[string]time.Duration{"2d": 48 * time.Hour, "1d12h": 36 * time.Hour,
		"-1d": -24 * time.Hour, "90s": 90 * time.Second, "0d": 0} {
		if got, err := cli.ParseSpan(text); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "1.5d", "2", "1d-1h", "1d1d", "999999d", "soon"} {
		if got, err := cli.ParseSpan(text); err == nil {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
	s := newCanned(t)
	env := map[string]string{"VIGIL_ADDR": "http://" + s.addr}
	s.status = &vigilv1.StatusResponse{}
	if code, _, errs := (terminalRun{env: env}).do(t, "status", "--timeout", "1d"); code != 0 {
		t.Errorf("--timeout 1d: %q", errs)
	}
	terminalRun{env: env}.do(t, "settings", "set", "session_limit=1d12h")
	s.mu.Lock()
	defer s.mu.Unlock()
	put, ok := s.asked[len(s.asked)-1].(*vigilv1.PutSettingsRequest)
	if !ok || put.GetValues()["session_limit"] != "36h0m0s" {
		t.Errorf("the cluster is asked for %v", s.asked[len(s.asked)-1])
	}
}

// Servers are listed as everything else is.
func TestN08ServerList(t *testing.T) {
	for _, verb := range []string{"list", "peers"} {
		code, out, _ := terminalRun{}.do(t, "server", verb, "--help")
		if code != 0 || !strings.Contains(out, "List the servers of the cluster") {
			t.Errorf("server %s: exit code %d, %q", verb, code, out)
		}
	}
}
