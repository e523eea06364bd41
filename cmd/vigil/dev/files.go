package dev

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"vigil/agentd/runner"
	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/conf"
	"vigil/rpc/freeport"
)

// devServer is a server of the demo and its addresses.
type devServer struct{ ID, RaftAddr, APIAddr string }

// devPlace is where a demo keeps its things.
type devPlace struct {
	dir     string
	temp    bool // removed at the end
	lock    *os.File
	servers []devServer
	hosts   []devHost
}

// openDevPlace makes the folder, or finds the one of an earlier run: the servers in
// it keep their addresses, which are part of their data.
func openDevPlace(o devOptions) (*devPlace, error) {
	p := &devPlace{}
	var err error
	if o.dataDir == "" {
		p.temp = true
		p.dir, err = os.MkdirTemp("", "vigil-dev-")
	} else if p.dir, err = filepath.Abs(o.dataDir); err == nil {
		err = os.MkdirAll(p.dir, 0o700)
	}
	if err == nil {
		p.dir, err = filepath.EvalSymlinks(p.dir) // as the system shows where processes are
	}
	if err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	if p.lock, err = lockFolder(p.dir); err == nil {
		err = p.findServers(o.port, o.asked)
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	for _, name := range devHostNames[:o.hosts] {
		p.hosts = append(p.hosts, devHost{name: name, dir: p.path(name)})
	}
	return p, nil
}

func (p *devPlace) path(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

// keepProgram copies this program into the folder: what runs here and what people type must not
// depend on a file that goes when it was only built to be run once.
func (p *devPlace) keepProgram() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	from, err := os.Open(exe)
	if err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	defer from.Close()
	to, next := p.path("bin", "vigil"), p.path("bin", "vigil.next")
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err == nil {
		_, err = io.Copy(f, from)
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(next, to) // what still runs of an earlier demo keeps its own file
	}
	if err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	return to, nil
}

// remove ends the use of the folder, and takes a temporary one away.
func (p *devPlace) remove() error {
	if p.lock != nil {
		defer p.lock.Close()
	}
	if !p.temp {
		return nil
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return fmt.Errorf("remove data folder: %w", err)
	}
	return nil
}

// findServers reads the servers of an earlier run or gives new ones ports: from first on, or, when
// one of these is taken and nobody has asked for them, any that are free.
func (p *devPlace) findServers(first int, asked bool) error {
	for i := range devServers {
		known, err := conf.ReadServer(p.path(devServerName(i), "server.yaml"))
		switch {
		case err == nil:
			p.servers = append(p.servers, devServer{ID: known.ID, APIAddr: known.Addr, RaftAddr: known.RaftAddr})
		case i > 0 || !errors.Is(err, fs.ErrNotExist):
			return err
		default:
			return p.newServers(first, asked)
		}
	}
	return nil
}

func devServerName(i int) string { return fmt.Sprintf("s%d", i+1) }

func (p *devPlace) newServers(first int, asked bool) (err error) {
	var addrs []string
	if first != 0 {
		if addrs, err = portsFrom(first); err != nil && asked {
			return cli.Usagef("flag --port: %w: give another port, or 0 for any that are free", err)
		}
	}
	if addrs == nil {
		if addrs, err = freeport.Addrs(2 * devServers); err != nil {
			return fmt.Errorf("find free ports: %w", err)
		}
	}
	for i := range devServers {
		p.servers = append(p.servers, devServer{ID: devServerName(i), APIAddr: addrs[2*i], RaftAddr: addrs[2*i+1]})
	}
	return nil
}

// portsFrom gives two addresses a server, from a port on, when nobody listens on any of them.
func portsFrom(first int) (addrs []string, err error) {
	for i := range 2 * devServers {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return nil, err
		}
		defer l.Close() // it only asked
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// apiAddrs are the API addresses of all servers.
func (p *devPlace) apiAddrs() []string {
	var addrs []string
	for _, s := range p.servers {
		addrs = append(addrs, s.APIAddr)
	}
	return addrs
}

// write writes the configuration files and the files to work on.
func (p *devPlace) write(exe string, settings map[string]string) error {
	for i, s := range p.servers {
		conf := map[string]any{"id": s.ID, "data_dir": p.data(s.ID), "addr": s.APIAddr, "raft_addr": s.RaftAddr,
			"timing": devTiming}
		if i == 0 {
			conf["settings"] = settings // it founds the cluster
		} else {
			conf["join"] = []string{p.servers[0].APIAddr}
		}
		if err := p.put(conf, s.ID, "server.yaml"); err != nil {
			return err
		}
	}
	account := runner.SameUser() // what is shown on one's own machine shares one's account
	runner := func(role string, more ...string) map[string]any {
		args := append([]string{"dev-agent", role, "--files", p.path("input"), "--pace", devPace.String()}, more...)
		return map[string]any{"name": role, "program": exe, "args": args, "user": account,
			"env_allow": []string{"PATH", "HOME", "LANG", "TMPDIR", "GOCACHE", "GOROOT", "GOPATH", "XDG_CACHE_HOME"}}
	}
	for _, h := range p.hosts {
		conf := map[string]any{"servers": p.apiAddrs(), "data_dir": h.data(), "name": h.name,
			// The end of the demo is the end of its agents, also when it is killed itself.
			"on_stop": "end", "orphan_limit": devOrphan.String(),
			"runners": []any{runner("checksum"), runner("words"), runner("vet", "--idle", devIdle.String())}}
		if h.figures != "" {
			conf["metrics"] = h.figures
		}
		if err := p.put(conf, h.name, "agentd.yaml"); err != nil {
			return err
		}
		if err := h.switchOn(); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was off when an earlier run ended
			return err
		}
	}
	for name, text := range devInputs() {
		if err := p.writeFile([]byte(text), "input", filepath.FromSlash(name)); err != nil {
			return err
		}
	}
	return nil
}

func (p *devPlace) put(conf any, elem ...string) error {
	text, err := yaml.Marshal(conf)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(elem...), err)
	}
	return p.writeFile(text, elem...)
}

func (p *devPlace) writeFile(text []byte, elem ...string) error {
	name := p.path(elem...)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write data folder: %w", err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return fmt.Errorf("write data folder: %w", err)
	}
	return nil
}

// devInputs are the files that the agents of the demo work on.
func devInputs() map[string]string {
	var numbers strings.Builder
	for i, n := 0, uint64(1); i < 100_000; i++ {
		n = n*6364136223846793005 + 1442695040888963407 // the same on every machine
		fmt.Fprintf(&numbers, "%d,%d\n", i, n>>40)
	}
	return map[string]string{
		"address.txt":    devAddress,
		"ozymandias.txt": devOzymandias,
		"numbers.csv":    numbers.String(),
		"clean/go.mod":   "module clean\n\ngo 1.21\n",
		"clean/main.go":  devCleanModule,
		"faulty/go.mod":  "module faulty\n\ngo 1.21\n",
		"faulty/main.go": devFaultyModule,
	}
}

// devJobs are the tasks that the demo creates in turn: role and text.
func devJobs() [][2]string {
	return [][2]string{
		{"checksum", "address.txt"}, {"checksum", "numbers.csv"}, {"vet", "faulty"}, {"checksum", "ozymandias.txt"},
		{"words", "address.txt"}, {"checksum", "numbers.csv"}, {"words", "ozymandias.txt"}, {"vet", "clean"},
	}
}

const devAddress = `Four score and seven years ago our fathers brought forth on this continent, a new
nation, conceived in Liberty, and dedicated to the proposition that all men are
created equal.

Now we are engaged in a great civil war, testing whether that nation, or any nation
so conceived and so dedicated, can long endure. We are met on a great battle-field
of that war. We have come to dedicate a portion of that field, as a final resting
place for those who here gave their lives that that nation might live. It is
altogether fitting and proper that we should do this.

But, in a larger sense, we can not dedicate -- we can not consecrate -- we can not
hallow -- this ground. The brave men, living and dead, who struggled here, have
consecrated it, far above our poor power to add or detract. The world will little
note, nor long remember what we say here, but it can never forget what they did
here.
`

const devOzymandias = `I met a traveller from an antique land,
Who said -- "Two vast and trunkless legs of stone
Stand in the desert.... Near them, on the sand,
Half sunk a shattered visage lies, whose frown,
And wrinkled lip, and sneer of cold command,
Tell that its sculptor well those passions read
Which yet survive, stamped on these lifeless things,
The hand that mocked them, and the heart that fed;
And on the pedestal, these words appear:
My name is Ozymandias, King of Kings;
Look on my Works, ye Mighty, and despair!
Nothing beside remains. Round the decay
Of that colossal Wreck, boundless and bare
The lone and level sands stretch far away."
`

const devCleanModule = `package main

import "fmt"

func main() { fmt.Printf("%d agents are watched\n", 5) }
`

const devFaultyModule = `package main

import "fmt"

func main() { fmt.Printf("%d agents are watched\n", "five") }
`
