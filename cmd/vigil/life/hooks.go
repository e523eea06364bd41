package life

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// An AI tool that its agent runs, such as `claude -p` in a shell, has the hooks of that agent, and its
// environment: what they say would be taken for the agent's own. Its conversation would be the one with
// which the next life goes on, and the end of its turn the end of a tool call that the agent is in.
//
// So a hook that remembers a conversation, which is the first of every session, notes whose it is. One that is
// beneath that tool belongs to another session: it is noted as an inner one, and neither it nor what hooks say
// beneath it is said. Programs that only are hooks, such as a script in Python, begin no session. A tool that is
// started when the noted one is gone, or beside it, takes its place.

// hooksFile is the name of that note in the folder of undelivered results of a managed life.
const hooksFile = ".hooks"

// maxNote bounds what is read of a note, in bytes.
const maxNote = 64 << 10

// maxInner is how many inner tools are remembered.
const maxInner = 64

// hookNote tells whose hooks speak for a life.
type hookNote struct {
	Agent       string  `json:"agent"`
	Incarnation uint64  `json:"incarnation"`
	Owner       Process `json:"owner"`
	// Inner are the tools beneath the owner that have begun sessions, as far as they still run.
	Inner []Process `json:"inner,omitempty"`
}

// Nested tells whether the hook that runs this command belongs to a tool which the life's own AI tool
// has started: its word is not the agent's. With begins the hook is one by which a session begins, and
// is noted as the life's own when it is not nested. Where processes cannot be looked at no hook is.
func Nested(a *cli.App, l *Life, begins bool) bool {
	tool := hookTool()
	if tool.PID == 0 || tool.Start == "" || !within(a, l, tool.PID) {
		return false
	}
	name, err := hooksFileOf(a, l)
	if err != nil || name == "" {
		return false
	}
	n, above := notedIn(name, l), Ancestors(tool.PID)
	at := slices.Index(above, n.Owner)
	nested := n.Owner != tool && at >= 0 && n.Owner.Alive()
	switch {
	case nested && begins:
		n.Inner = slices.DeleteFunc(n.Inner, func(p Process) bool { return p == tool || !p.Alive() })
		n.Inner = append(n.Inner[max(0, len(n.Inner)-maxInner+1):], tool)
		_ = put(name, n)
		return true
	case nested:
		return slices.ContainsFunc(above[:at], func(p Process) bool { return slices.Contains(n.Inner, p) })
	case begins:
		// At worst a nested tool is not known for one.
		_ = put(name, hookNote{Agent: l.Agent, Incarnation: l.Incarnation, Owner: tool})
	}
	return false
}

// hooksFileOf is where the note of the life is; "": nowhere.
func hooksFileOf(a *cli.App, l *Life) (string, error) {
	if !l.Managed {
		name, err := HomeFile(a, l.Agent)
		return strings.TrimSuffix(name, ".json") + hooksFile, err
	}
	if folder := a.Getenv(client.EnvSpool); folder != "" {
		return filepath.Join(folder, hooksFile), nil
	}
	return "", nil
}

// notedIn gives what is noted for the life; the zero note when nothing is.
func notedIn(name string, l *Life) (n hookNote) {
	f, err := os.Open(name)
	if err != nil {
		return hookNote{}
	}
	defer f.Close()
	if json.NewDecoder(io.LimitReader(f, maxNote)).Decode(&n) != nil || n.Agent != l.Agent ||
		n.Incarnation != l.Incarnation {
		return hookNote{}
	}
	return n
}

// hookTool is the AI tool whose hook runs this command: the nearest process above it that is neither a
// shell nor one of those that only run others. The zero one when there is none.
func hookTool() Process {
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		args := argsOf(pid)
		if len(args) == 0 {
			return Process{}
		}
		switch name := nameOf(args); {
		case isShell(name), slices.Contains([]string{"vigil", "tmux", "env", "timeout", "nice", "setsid"}, name):
		default:
			return ProcessOf(pid)
		}
	}
	return Process{}
}

// within tells whether the process was started inside the life, as its tool is, and not around it, as a
// supervisor is.
func within(a *cli.App, l *Life, pid int) bool {
	key := "VIGIL_INCARNATION"
	if !l.Managed {
		key = "VIGIL_AGENT"
	}
	value := a.Getenv(key)
	if value == "" { // flags name the life
		return true
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && slices.Contains(strings.Split(string(env), "\x00"), key+"="+value)
}
