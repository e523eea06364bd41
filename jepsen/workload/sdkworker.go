package workload

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/jepsen/history"
	packages "vigil/rpc/sdk"
)

//go:embed sdk/worker.py sdk/worker.mjs
var sdkScripts embed.FS

// SDK is what workers in other languages need.
type SDK struct {
	// Folder is where programs and packages are put; it must exist.
	Folder string
	// Ledger is the folder of their accounts: see package ledger.
	Ledger string
	// Access are environments by which they find the cluster and say who they are; each takes the next one.
	Access [][]string
}

// Worker is a place for one worker in another language: a process, and the next when that has ended.
type Worker struct {
	s       *Set
	name    string
	command []string
	env     []string

	mu      sync.Mutex
	process *os.Process // nil: none runs
	agent   string      // that it is; empty: it has not joined
	starts  int
}

// sdkGrace is how long a worker that was told to end may take.
const sdkGrace = 20 * time.Second

// createEvery is how often each of them creates a task, about, in seconds.
const createEvery = 3

// sdkWorkers finds the interpreters and puts in place what they run. What is missing is said.
func (s *Set) sdkWorkers() (list []*Worker, err error) {
	if s.cfg.SDK == nil {
		return nil, nil
	}
	c := s.cfg.SDK
	for _, one := range []struct {
		folder string
		from   fs.FS
	}{{"python/vigil", packages.Python()}, {"node_modules/vigil", packages.TypeScript()}, {"", sdkScripts}} {
		if err := os.CopyFS(filepath.Join(c.Folder, one.folder), one.from); err != nil {
			return nil, fmt.Errorf("put the package for workers in place: %w", err)
		}
	}
	add := func(name string, env []string, command ...string) {
		env = append(env, c.Access[len(list)%len(c.Access)]...)
		list = append(list, &Worker{s: s, name: name, command: command, env: env})
	}
	if python := s.interpreter("Python", "python3", "-c", "import sys; print(sys.executable)"); python != "" {
		script := filepath.Join(c.Folder, "sdk", "worker.py")
		path := "PYTHONPATH=" + filepath.Join(c.Folder, "python")
		add("python", []string{path}, python, script)
		add("asyncio", []string{path, "SDK_ASYNC=1"}, python, script)
	}
	if node := s.interpreter("TypeScript", "node", "-p", "process.execPath"); node != "" {
		script := filepath.Join(c.Folder, "sdk", "worker.mjs")
		add("node", nil, node, script)
		add("node2", nil, node, script)
	}
	return list, nil
}

// interpreter finds the program itself, since what PATH has may be a script that looks for it.
func (s *Set) interpreter(language, name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		s.cfg.Say("left out: workers in %s (%v)", language, err)
		return ""
	}
	return strings.TrimSpace(string(out))
}

// live runs one process after the other until rest ends.
func (w *Worker) live(rest context.Context, resting <-chan struct{}) {
	for rest.Err() == nil {
		began := time.Now()
		if err := w.once(rest, resting); err != nil {
			w.s.cfg.Say("worker %s: %v", w.name, err)
		}
		if time.Since(began) < 2*time.Second { // all places may be taken
			pause(rest, time.Second)
		}
	}
}

// once runs one process to its end.
func (w *Worker) once(rest context.Context, resting <-chan struct{}) (err error) {
	runtime.LockOSThread() // the death signal follows this thread
	defer runtime.UnlockOSThread()
	w.starts++
	name := fmt.Sprintf("%s.%d", w.name, w.starts) // node.21 is not node2.1
	cmd := exec.Command(w.command[0], w.command[1:]...)
	cmd.Env = w.environment(name)
	dieWithUs(cmd)
	log, err := os.OpenFile(filepath.Join(w.s.cfg.SDK.Folder, w.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stderr = log
	words, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	w.set(cmd.Process, "")
	over := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { attend(cmd.Process, stdin, rest, resting, over) })
	w.listen(words)
	_ = cmd.Wait() // how it ended says its log
	close(over)
	beside.Wait()
	w.set(nil, "")
	return w.gone(name)
}

func (w *Worker) environment(name string) []string {
	c := w.s.cfg.SDK
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.Folder, "SDK_NAME=" + name, "SDK_LEDGER=" + c.Ledger,
		"SDK_ROLE=" + sdkRoom + "/" + sdkRole, fmt.Sprintf("SDK_TTL=%g", w.s.cfg.TTL.Seconds()),
		fmt.Sprintf("SDK_EVERY=%d", createEvery), fmt.Sprintf("SDK_CLOCK=%d", clockShift())}, w.env...)
}

// attend has a process create nothing more when the others rest, and end when there is nothing more to do.
func attend(p *os.Process, stdin io.Closer, rest context.Context, resting, over <-chan struct{}) {
	select {
	case <-resting:
	case <-rest.Done():
	case <-over:
	}
	_ = stdin.Close() // its end is the word
	select {
	case <-over:
		return
	case <-rest.Done():
	}
	_ = p.Signal(syscall.SIGTERM) // or it has ended just now
	late := time.NewTimer(sdkGrace)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		_ = p.Kill() // or it has ended just now
	}
}

// sdkWord is what a worker tells.
type sdkWord struct {
	Did, Agent, Value, Outcome, Error string
	Task                              uint64
	Call, Return                      int64
}

// listen records what a process tells until its end.
func (w *Worker) listen(words io.Reader) {
	p := w.s.process("sdk")
	lines := bufio.NewScanner(words)
	for lines.Scan() {
		var word sdkWord
		if json.Unmarshal(lines.Bytes(), &word) != nil {
			continue // cut off by its end
		}
		switch word.Did {
		case "join":
			w.joined(word.Agent)
		case "create":
			w.s.cfg.Record.Op(history.Op{Workload: "sdk", Process: p.id, Kind: "create", Key: sdkRole, Value: word.Value,
				Task: word.Task, Call: word.Call, Return: word.Return, Outcome: word.Outcome, Error: word.Error})
			if word.Outcome == history.Unknown {
				p.renew()
			}
		}
	}
}

func (w *Worker) set(p *os.Process, agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.process, w.agent = p, agent
}

func (w *Worker) joined(agent string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agent = agent
}

// gone notes the end of the lives of a process.
func (w *Worker) gone(name string) error {
	folder := w.s.cfg.SDK.Ledger
	files, err := filepath.Glob(filepath.Join(folder, "*-client-*-"+name+".life"))
	for _, file := range files {
		err = errors.Join(err, ledger.Gone(folder, filepath.Base(file)))
	}
	return err
}

// Agent is the agent that a worker in another language is; empty: none at the moment.
func (w *Worker) Agent() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.agent
}

// Signal signals its process, if there is one.
func (w *Worker) Signal(sig os.Signal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process == nil {
		return os.ErrProcessDone
	}
	return w.process.Signal(sig)
}
