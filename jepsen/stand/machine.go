//go:build linux

package stand

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"vigil/jepsen/stand/boxwords"
)

// patience is how long a machine may take to answer the driver. It answers within
// milliseconds unless this whole machine is overloaded.
const patience = 60 * time.Second

// machineSpaces are the namespaces that a machine has of its own.
const machineSpaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS |
	syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC

// ErrDown says that the machine is switched off.
var ErrDown = errors.New("the machine is switched off")

// Machine is one simulated machine. It may be used by several goroutines.
type Machine struct {
	Name string
	IP   string
	// Env is what programs that are started get beside the driver's environment. It
	// and OnBoot, which runs at the end of On, are for whoever gives the machine another
	// disk or clock; they change only while nothing starts.
	Env    []string
	OnBoot []func() error

	stand *Stand
	net   sync.Mutex // one change of its network at a time
	boots int

	mu      sync.Mutex
	box     *exec.Cmd // nil: switched off
	words   io.WriteCloser
	down    chan struct{} // closed when the box is gone
	next    int
	answers map[int]chan boxwords.Word
	running map[int]*Process
	early   map[int]boxwords.Word // ends that were told before the start was
}

// Process is one process that the driver has started on a machine.
type Process struct {
	Machine *Machine
	PID     int // as the machine sees it
	Log     string

	done chan struct{}
	code int
}

// Done is closed when the process is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Code is the exit code after Done, -1 when a signal ended it.
func (p *Process) Code() int { return p.code }

// Boot switches the machine on: an empty machine with its address on the bridge.
func (m *Machine) Boot() error {
	cmd := exec.Command(m.stand.config.Box)
	words, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	log, err := os.OpenFile(m.stand.path(m.Name, "box.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	defer log.Close()
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: machineSpaces}
	if m.stand.group != "" {
		g, err := m.makeGroup()
		if err != nil {
			return fmt.Errorf("boot %s: %w", m.Name, err)
		}
		defer g.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(g.Fd())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.box != nil {
		return fmt.Errorf("boot %s: it is on", m.Name)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("boot %s: %w", m.Name, err)
	}
	m.boots++
	m.box, m.words, m.down = cmd, words, make(chan struct{})
	m.answers, m.running, m.early = map[int]chan boxwords.Word{}, map[int]*Process{}, map[int]boxwords.Word{}
	go m.listen(cmd, json.NewDecoder(answers), m.down)
	return nil
}

// IsOn tells whether the machine is switched on.
func (m *Machine) IsOn() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.box != nil
}

// makeGroup makes the machine's cgroup.
func (m *Machine) makeGroup() (*os.File, error) {
	dir := filepath.Join(m.stand.group, m.Name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.Open(dir)
}

// connect gives a machine that is on its address.
func (m *Machine) connect() error {
	m.net.Lock()
	defer m.net.Unlock()
	m.mu.Lock()
	box := m.box
	m.mu.Unlock()
	if box == nil {
		return fmt.Errorf("connect %s: %w", m.Name, ErrDown)
	}
	port := m.card()
	// The kernel takes the network of an earlier boot away, but not at once.
	_ = m.stand.tool("ip", "link", "del", port)
	for _, args := range [][]string{
		{"link", "add", port, "type", "veth", "peer", "name", "eth0", "address", m.hardware(), "netns",
			fmt.Sprint(box.Process.Pid)},
		{"link", "set", port, "master", bridge, "up"},
	} {
		if err := m.stand.tool("ip", args...); err != nil {
			return fmt.Errorf("connect %s: %w", m.Name, err)
		}
	}
	batch := fmt.Sprintf("link set lo up\naddr add %s/24 dev eth0\nlink set eth0 up\n", m.IP)
	return m.tool("ip", "-batch", batch)
}

// card is the name of the machine's network card on the side of the bridge.
func (m *Machine) card() string { return "v-" + m.Name }

// hardware makes an address for the network card out of the machine's own, so that
// neighbours know it again after a boot.
func (m *Machine) hardware() string {
	var n [4]int
	_, _ = fmt.Sscanf(m.IP, "%d.%d.%d.%d", &n[0], &n[1], &n[2], &n[3]) // it is ours
	return fmt.Sprintf("02:00:%02x:%02x:%02x:%02x", n[0], n[1], n[2], n[3])
}

// listen reads what the box says until it is gone.
func (m *Machine) listen(box *exec.Cmd, words *json.Decoder, down chan struct{}) {
	for {
		var w boxwords.Word
		if words.Decode(&w) != nil {
			break
		}
		m.mu.Lock()
		if w.N != 0 {
			if c := m.answers[w.N]; c != nil {
				delete(m.answers, w.N)
				c <- w
			}
		} else if p := m.running[w.Ended]; p != nil {
			delete(m.running, w.Ended)
			p.code = w.Code
			close(p.done)
		} else {
			m.early[w.Ended] = w
		}
		m.mu.Unlock()
	}
	_ = box.Wait() // killed, or ended with its standard input
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.running {
		p.code = -1
		close(p.done)
	}
	m.box, m.running = nil, nil
	close(down)
}

// ask has the box do something.
func (m *Machine) ask(ask boxwords.Ask) (boxwords.Word, error) {
	c := make(chan boxwords.Word, 1)
	m.mu.Lock()
	if m.box == nil {
		m.mu.Unlock()
		return boxwords.Word{}, fmt.Errorf("%s: %w", m.Name, ErrDown)
	}
	m.next++
	ask.N = m.next
	m.answers[ask.N] = c
	down := m.down
	err := json.NewEncoder(m.words).Encode(ask)
	m.mu.Unlock()
	if err != nil {
		return boxwords.Word{}, fmt.Errorf("%s: %w: %w", m.Name, ErrDown, err)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case w := <-c:
		if w.Error != "" {
			return w, fmt.Errorf("%s: %s: %s", m.Name, ask.Do, w.Error)
		}
		return w, nil
	case <-down:
		return boxwords.Word{}, fmt.Errorf("%s: %w", m.Name, ErrDown)
	case <-timer.C:
		return boxwords.Word{}, fmt.Errorf("%s: no answer to %s within %s", m.Name, ask.Do, patience)
	}
}

// Start starts a program. Its output is appended to NAME.log in the machine's
// folder.
func (m *Machine) Start(name, path string, args, env []string) (*Process, error) {
	p := &Process{Machine: m, Log: m.stand.path(m.Name, name+".log"), done: make(chan struct{})}
	w, err := m.ask(boxwords.Ask{Do: boxwords.Start, Path: path, Args: args, Env: slices.Concat(m.Env, env),
		Log: p.Log})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.PID = w.PID
	m.mu.Lock()
	defer m.mu.Unlock()
	end, ended := m.early[p.PID]
	switch {
	case ended:
		delete(m.early, p.PID)
		p.code = end.Code
		close(p.done)
	case m.running == nil:
		p.code = -1
		close(p.done)
	default:
		m.running[p.PID] = p
	}
	return p, nil
}

// Run runs a program to its end; a code other than 0 is an error.
func (m *Machine) Run(name, path string, args ...string) error {
	p, err := m.Start(name, path, args, nil)
	if err != nil {
		return err
	}
	return p.succeeds()
}

// succeeds waits for the end of the process; a code other than 0 is an error.
func (p *Process) succeeds() error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	name := filepath.Base(p.Log)
	select {
	case <-p.done:
	case <-timer.C:
		return fmt.Errorf("%s: %s does not end", p.Machine.Name, name)
	}
	if p.code != 0 {
		text, _ := os.ReadFile(p.Log) // for people
		return fmt.Errorf("%s: %s ended with code %d: %s", p.Machine.Name, name, p.code, lastLine(text))
	}
	return nil
}

// tool runs ip or nft on the machine with a script.
func (m *Machine) tool(name, flag, script string) error {
	path, err := tool2path(name)
	if err != nil {
		return err
	}
	file := m.stand.path(m.Name, name+".rules")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return fmt.Errorf("write rules of %s: %w", m.Name, err)
	}
	return m.Run(filepath.Base(path), path, flag, file)
}

// Signal signals one process of the machine.
func (m *Machine) Signal(pid int, sig syscall.Signal) error {
	_, err := m.ask(boxwords.Ask{Do: boxwords.Signal, PID: pid, Signal: int(sig)})
	return err
}

// KillAll kills every process at once; the machine stays on.
func (m *Machine) KillAll() error {
	_, err := m.ask(boxwords.Ask{Do: boxwords.KillAll})
	return err
}

// StopAll stops every process at once, as a suspended machine would.
func (m *Machine) StopAll() error {
	_, err := m.ask(boxwords.Ask{Do: boxwords.StopAll})
	return err
}

// ContinueAll undoes StopAll.
func (m *Machine) ContinueAll() error {
	_, err := m.ask(boxwords.Ask{Do: boxwords.ContinueAll})
	return err
}

// Processes lists what runs on the machine.
func (m *Machine) Processes() ([]boxwords.Process, error) {
	w, err := m.ask(boxwords.Ask{Do: boxwords.List})
	return w.Processes, err
}

// PowerOff ends the machine without a word to anybody.
func (m *Machine) PowerOff() error {
	m.mu.Lock()
	box, down := m.box, m.down
	m.mu.Unlock()
	if box == nil {
		return nil
	}
	if err := box.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("switch %s off: %w", m.Name, err)
	}
	select {
	case <-down:
	case <-time.After(patience):
		return fmt.Errorf("switch %s off: it does not end", m.Name)
	}
	if m.stand.group == "" {
		return nil
	}
	return removeGroup(filepath.Join(m.stand.group, m.Name))
}
