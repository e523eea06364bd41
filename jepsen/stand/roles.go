//go:build linux

package stand

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"vigil/cmd/vigil/bench/ledger"
)

// Host is a machine that runs `vigil agentd`.
type Host struct {
	*Machine
	Process *Process // the newest agentd
	Data    string   // its data directory
	Program string   // what runs from the next start on; empty: the program under test
}

// Runner is the name of the runner that starts tickers. It and those of the
// configuration take the parameter "does": what is wrong with the agent.
const Runner = "ticker"

// NewHost makes a host that is switched off. Its address ends with the number. It
// has room for 64 agents and the label host, with its name.
func (s *Stand) NewHost(name string, number int) (*Host, error) {
	h := &Host{Machine: s.machine(name, number), Data: s.path(name, "data")}
	return h, h.Configure(64)
}

// Configure writes the configuration of a host that can hold so many agents. It
// counts from the next start on.
func (h *Host) Configure(capacity int) error {
	s := h.stand
	if err := os.MkdirAll(s.path(h.Name), 0o711); err != nil {
		return fmt.Errorf("make folder of %s: %w", h.Name, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "servers: [%s]\ninsecure: %t\nname: %s\n"+
		"labels: {host: %s}\nlog_level: info\ncapacity: %d\n%srunners:\n",
		quoted(s.Addrs()), s.config.Insecure, h.Name, h.Name, capacity, s.gossip(h.Machine))
	more := map[string]string{Runner: ""}
	maps.Copy(more, s.config.Runners)
	for _, name := range sortedKeys(more) {
		fmt.Fprintf(&b, `  - name: %s
    program: %q
    user: root
    args: ["${param.does}"]
    params: {does: {pattern: "[a-z0-9,=.-]*", default: ""}}
    env: {TICKER_LEDGER: %q, TICKER_HOST: %q, GOMAXPROCS: "1", GOGC: "50"}
`, name, s.config.Ticker, s.Ledger.Folder, h.Name)
		if more[name] != "" {
			fmt.Fprintf(&b, "    %s\n", more[name])
		}
	}
	if err := os.WriteFile(h.file(), []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

func (h *Host) file() string { return h.stand.path(h.Name, "agentd.yaml") }

// Start starts agentd, for the first time or again. A host without an identity joins the cluster first,
// which needs servers that answer.
func (h *Host) Start() (err error) {
	if err := h.enter(); err != nil {
		return err
	}
	h.Process, err = h.StartBeside("agentd")
	return err
}

// StartBeside starts an agentd on the host's data directory whether or not one
// runs there already.
func (h *Host) StartBeside(name string) (*Process, error) {
	args := []string{"agentd", "--config", h.file(), "--data-dir", h.Data}
	args = append(args, h.BootFlags()...)
	return h.Machine.Start(name, h.stand.program(h.Program), args, nil)
}

// Kill ends agentd with SIGKILL and returns when it is gone.
func (h *Host) Kill() error { return h.Process.Kill() }

// Resident is one agent's process on a host.
type Resident struct {
	Agent string
	PID   int
	Shim  int // 0: agentd itself started it
}

// Residents lists the agents whose processes are on the machine, frozen or not.
func (h *Host) Residents() ([]Resident, error) {
	list, err := h.Processes()
	if err != nil {
		return nil, err
	}
	lives, err := ledger.Read(h.stand.Ledger.Folder)
	if err != nil {
		return nil, err
	}
	agents := map[int]string{}
	for _, l := range lives {
		if l.Host == h.Name && l.Gone == 0 && l.Exit == 0 {
			agents[l.PID] = l.Agent
		}
	}
	shims := map[int]bool{}
	for _, p := range list {
		shims[p.PID] = slices.Contains(p.Args, "shim")
	}
	var found []Resident
	for _, p := range list {
		if p.Args[0] != h.stand.config.Ticker || agents[p.PID] == "" {
			continue
		}
		r := Resident{Agent: agents[p.PID], PID: p.PID}
		if shims[p.Parent] {
			r.Shim = p.Parent
		}
		found = append(found, r)
	}
	return found, nil
}

func quoted(list []string) string {
	var out []string
	for _, text := range list {
		out = append(out, strconv.Quote(text))
	}
	return strings.Join(out, ", ")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// BootFlags tell agentd of a boot of its machine that the kernel below has not seen.
func (h *Host) BootFlags() []string {
	if h.boots <= 1 {
		return nil
	}
	return []string{"--boot-id", fmt.Sprintf("boot-%d-of-%s", h.boots, h.Name)}
}
