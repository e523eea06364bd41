//go:build linux

package stand

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"vigil/jepsen/clock"
	"vigil/jepsen/disk"
	"vigil/rpc/trust"
)

const (
	bridge = "br0"
	// The driver's own address; machines are above.
	driverIP = "10.77.0.1"

	apiPort    = 7420
	raftPort   = 7421
	gossipPort = 7422
	wirePort   = 7430 // of the proxy before the API of server 0; one more for each
	raftWire   = 7440 // of the proxy before its log
)

// Config says how a stand is built.
type Config struct {
	Folder             string // must exist; everything is put below
	Vigil, Ticker, Box string // programs, see Build
	Servers, Hosts     int
	// Spares are more servers, which are not started and are no members: see
	// Server.Empty.
	Spares int
	// ServerProgram is what servers run at first, an older build for instance; empty:
	// Vigil. One that knows no identities (KnowsIdentities) needs Insecure.
	ServerProgram string
	// Limits go into the configuration of servers, under limits: snapshot_entries and
	// the like.
	Limits map[string]string
	// Timing goes into the configuration of servers, under timing; none: the defaults.
	Timing map[string]string
	// BackupEvery has servers make backups in the folder backups; 0: none.
	BackupEvery time.Duration
	// LogStores are the forms of the logs of servers, one after the other and from the start again; none:
	// bolt.
	LogStores []string
	// Settings of the cluster, as in the configuration of a server. They count only
	// when they go together.
	Settings map[string]string
	// Runners are further ones for tickers: one more line of configuration by name.
	Runners map[string]string
	// Insecure has servers and hosts speak in clear, for whoever must read or forge what is on its way.
	// Else all have identities, of a root of the stand's own.
	Insecure bool
	// Disks gives the servers disks that can fail (Server.Disk); disk.Missing tells
	// whether that is possible. Clocks gives all machines wall clocks of their own
	// (Machine.Clock); Vigil must have been built by BuildStepped to see them.
	Disks, Clocks bool
}

// Stand is servers and hosts on one bridge. Machines may be used by several
// goroutines; Open and Close are called once.
type Stand struct {
	Servers []*Server
	Spares  []*Server
	Hosts   []*Host
	Wires   *Wires
	Ledger  *Collector

	config  Config
	group   string        // cgroup of its machines; empty: none
	key     string        // file with the key of gossip, where there are no identities
	self    *trust.Holder // who runs the stand; nil: servers speak in clear
	bridged bool
	disks   map[string]*disk.Disk   // by name of the server; nil: there are none
	clocks  map[string]*clock.Clock // by name of the machine; nil: there are none

	mu   sync.Mutex // one change of the links at a time
	cuts int
	cut  map[int][]Link // what CutLinks has cut, by call
}

// Open builds the machines, switches them on and starts servers and hosts. It does
// not wait until they are at work. There is one stand at a time in a process.
func Open(c Config) (_ *Stand, err error) {
	if why := Missing(); why != "" {
		return nil, errors.New(why)
	}
	if !Isolated() {
		return nil, errors.New("the driver is not in a network namespace of its own: call Isolate first")
	}
	s := &Stand{config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if c.BackupEvery > 0 {
		if err := os.MkdirAll(s.path("backups"), 0o700); err != nil {
			return s, fmt.Errorf("make folder of backups: %w", err)
		}
	}
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", bridge, "type", "bridge"},
		{"addr", "add", driverIP + "/24", "dev", bridge},
		{"link", "set", bridge, "up"},
	} {
		if err := s.tool("ip", args...); err != nil {
			return s, fmt.Errorf("build the network: %w", err)
		}
		s.bridged = s.bridged || args[1] == "add"
	}
	if s.Ledger, err = newCollector(filepath.Join(c.Folder, "ledger")); err != nil {
		return s, err
	}
	if s.group, err = group(); err != nil {
		return s, err
	}
	if c.Insecure {
		s.key = s.path("gossip.key")
		if out, err := exec.Command(c.Vigil, "keygen", s.key).CombinedOutput(); err != nil {
			return s, fmt.Errorf("make key: %w: %s", err, lastLine(out))
		}
	}
	for i := range c.Servers + c.Spares {
		sv := s.server(i)
		if i < c.Servers {
			s.Servers = append(s.Servers, sv)
		} else {
			sv.joins = true
			s.Spares = append(s.Spares, sv)
		}
	}
	if s.Wires, err = newWires(slices.Concat(s.Servers, s.Spares)); err != nil {
		return s, err
	}
	for i := range c.Hosts {
		h, err := s.NewHost(fmt.Sprintf("h%d", i+1), 21+i)
		if err != nil {
			return s, err
		}
		s.Hosts = append(s.Hosts, h)
	}
	if err := errors.Join(s.openDisks(), s.makeClocks()); err != nil {
		return s, err
	}
	return s, s.start()
}

// start switches everything on and starts servers and hosts, all at once but for the server that founds
// the cluster, to which the others come by tokens.
func (s *Stand) start() error {
	var on, begin []func() error
	for _, m := range s.Machines() {
		on = append(on, m.On)
	}
	for _, sv := range s.Servers {
		begin = append(begin, sv.Start)
	}
	for _, h := range s.Hosts {
		begin = append(begin, h.Start)
	}
	if err := together(on); err != nil {
		return err
	}
	if !s.config.Insecure {
		if err := s.found(); err != nil {
			return err
		}
		begin = begin[1:]
	}
	if err := together(begin); err != nil || s.config.Insecure {
		return err
	}
	return s.wholeCluster()
}

func together(all []func() error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, do := range all {
		wg.Go(func() { errs[i] = do() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// machine makes a machine that is switched off. Its address ends with the number.
func (s *Stand) machine(name string, number int) *Machine {
	return &Machine{Name: name, IP: fmt.Sprintf("10.77.0.%d", number), stand: s}
}

// On switches the machine on and connects it.
func (m *Machine) On() error {
	if err := os.MkdirAll(m.stand.path(m.Name), 0o711); err != nil {
		return fmt.Errorf("make folder of %s: %w", m.Name, err)
	}
	if err := m.Boot(); err != nil {
		return err
	}
	if err := m.connect(); err != nil {
		return err
	}
	for _, do := range m.OnBoot {
		if err := do(); err != nil {
			return fmt.Errorf("boot %s: %w", m.Name, err)
		}
	}
	return nil
}

// Addrs are the API addresses of the servers, as hosts and clients use them.
func (s *Stand) Addrs() []string {
	var list []string
	for _, sv := range s.Servers {
		list = append(list, sv.Addr())
	}
	return list
}

// Server finds a server or spare by its name, nil when there is none.
func (s *Stand) Server(name string) *Server {
	for _, sv := range slices.Concat(s.Servers, s.Spares) {
		if sv.Name == name {
			return sv
		}
	}
	return nil
}

// Machines are all machines of servers, spares and hosts.
func (s *Stand) Machines() []*Machine {
	list := MachinesOf(slices.Concat(s.Servers, s.Spares)...)
	for _, h := range s.Hosts {
		list = append(list, h.Machine)
	}
	return list
}

// Program is the program under test.
func (s *Stand) Program() string { return s.config.Vigil }

func (s *Stand) path(parts ...string) string {
	return filepath.Join(append([]string{s.config.Folder}, parts...)...)
}

// tool runs ip or nft in the driver's own network.
func (s *Stand) tool(name string, args ...string) error {
	path, err := tool2path(name)
	if err != nil {
		return err
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLine(out))
	}
	return nil
}

// Close switches everything off. The folder stays.
func (s *Stand) Close() error {
	var all []func() error
	for _, m := range s.Machines() {
		all = append(all, m.PowerOff)
	}
	errs := []error{together(all), s.HealLinks(), s.closeDisks(), s.closeClocks()}
	if s.Wires != nil {
		s.Wires.close()
	}
	if s.Ledger != nil {
		errs = append(errs, s.Ledger.close())
	}
	if s.group != "" {
		errs = append(errs, removeGroup(s.group))
	}
	if s.bridged {
		// The kernel takes the cards of machines away, but not at once.
		for _, m := range s.Machines() {
			_ = s.tool("ip", "link", "del", m.card())
		}
		errs = append(errs, s.tool("ip", "link", "del", bridge))
	}
	return errors.Join(errs...)
}

// gossip is the part of a configuration that is about gossip.
func (s *Stand) gossip(m *Machine) string {
	if !s.config.Insecure { // the leader makes the keys
		return fmt.Sprintf("gossip: {bind: \"%s:%d\"}\n", m.IP, gossipPort)
	}
	return fmt.Sprintf("gossip: {bind: \"%s:%d\", key_file: %q}\n", m.IP, gossipPort, s.key)
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// tags have go build lift the rule that servers and hosts without an identity keep to the loopback
// interface, for Config.Insecure: machines of a stand are reached by addresses of their own.
var tags = []string{"-tags", "stand"}

// Built gives the programs that Build has put into a folder, in this process or another.
func Built(folder, vigil string) Config {
	if vigil == "" {
		vigil = filepath.Join(folder, "vigil")
	}
	return Config{Vigil: vigil, Ticker: filepath.Join(folder, "ticker"), Box: filepath.Join(folder, "box")}
}

// Build builds the programs of a stand into a folder, from the module of the
// current directory. vigil is the program under test, built with -tags stand; empty: it is built too.
func Build(folder, vigil string) (Config, error) {
	c := Built(folder, vigil)
	packages := map[string]string{c.Ticker: "vigil/jepsen/ticker", c.Box: "vigil/jepsen/box"}
	if vigil == "" {
		packages[c.Vigil] = "vigil/cmd/vigil"
	}
	for program, pkg := range packages {
		if out, err := exec.Command("go", slices.Concat(
			[]string{"build", "-o", program}, tags, []string{pkg})...).CombinedOutput(); err != nil {
			return c, fmt.Errorf("build %s: %w: %s", pkg, err, out)
		}
	}
	return c, nil
}
