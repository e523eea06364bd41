package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long one story may take where everything else on the machine goes first.
const patience = 90 * time.Second

// worker is a program that passes the table.
type worker struct {
	language string
	needs    string // a program in PATH; "": none
	command  []string
	env      []string
	files    []string // patterns of what it reads: a result that go test has kept ends with a change of it
}

var pythonFiles = []string{"../python/vigil/*.py", "../python/tests/*.py"}

var workers = []worker{
	{language: "go", command: []string{os.Args[0]}, env: []string{goWorker + "=1"}},
	{language: "python", needs: "python3", command: []string{"python3", "../python/tests/conformance_worker.py"},
		env: []string{"PYTHONPATH=../python"}, files: pythonFiles},
	{language: "python asyncio", needs: "python3", command: []string{"python3", "../python/tests/conformance_async.py"},
		env: []string{"PYTHONPATH=../python"}, files: pythonFiles},
	{language: "typescript", needs: "node", command: []string{"node", "../typescript/test/conformance_worker.mjs"},
		files: []string{"../typescript/dist/*.js", "../typescript/test/*.mjs"}},
}

// Every SDK, and the Go client, does what the table says when servers misbehave.
func TestConformance(t *testing.T) {
	compiled := "PYTHONPYCACHEPREFIX=" + t.TempDir() // by the first of many, and not into the checkout
	for _, w := range workers {
		t.Run(w.language, func(t *testing.T) {
			t.Parallel()
			if w.needs != "" {
				if _, err := exec.LookPath(w.needs); err != nil {
					t.Skipf("the worker in %s is left out: no %s", w.language, w.needs)
				}
			}
			w.read(t)
			for _, s := range stories {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					s.tell(t, w, compiled)
				})
			}
		})
	}
}

func (w *worker) read(t *testing.T) {
	t.Helper()
	for _, pattern := range w.files {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// line is what a worker prints.
type line struct {
	Did, Code, Cause, Text string
	Task                   int
}

// tell runs a worker through a story and judges it.
func (s *story) tell(t *testing.T, w worker, env string) {
	c := newCluster(t, s)
	p := start(t, w, c, s, env)
	deadline := time.Now().Add(patience)
	begun := func() bool { return s.stop && p.count("handle") > 0 }
	going := func() bool {
		return s.ends != "" || !c.over() || p.count("told") < s.told || s.same != "" && !c.again(s.same)
	}
	for !p.ended() && !begun() && going() {
		if time.Now().After(deadline) {
			t.Errorf("nothing more happens: over %v", c.over())
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.end(t)
	s.judge(t, c, p)
	if t.Failed() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, a := range c.heard {
			t.Logf("%6d ms: server %d hears %s, id %q, again %v", a.at.Sub(c.heard[0].at).Milliseconds(), a.server,
				a.method, a.id, a.again)
		}
		t.Logf("the worker printed:\n%s%s", p.out.String(), p.err.String())
	}
}

func (s *story) judge(t *testing.T, c *cluster, p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, want := range s.done {
		have := c.tasks[i].GetNote()
		exact := !strings.HasSuffix(want, ": ")
		if exact && have != want || !exact && (!strings.HasPrefix(have, want) || len(have) == len(want)) {
			t.Errorf("task %d has ended as %q, want %q", i+1, have, want)
		}
		if want == "failed: " && !strings.Contains(have, "no such file") {
			t.Errorf("task %d has failed as %q, which lacks the reason", i+1, have)
		}
	}
	if n := p.count("handle"); n != s.handled {
		t.Errorf("the function was called %d times, want %d", n, s.handled)
	}
	if n := p.count("told"); n != s.told {
		t.Errorf("the function was told %d times that nobody wants its result, want %d", n, s.told)
	}
	lines := p.lines()
	if len(lines) == 0 || lines[len(lines)-1].Did != "end" || lines[len(lines)-1].Code != s.ends {
		t.Errorf("the worker ended as %v, want the code %q", lines, s.ends)
	} else if !strings.Contains(lines[len(lines)-1].Text, s.says) {
		t.Errorf("the worker ended with %q, which lacks %q", lines[len(lines)-1].Text, s.says)
	}
	sent := map[string]map[string]bool{}
	for i, a := range c.heard {
		if sent[a.method] == nil {
			sent[a.method] = map[string]bool{}
		}
		sent[a.method][cmp.Or(a.id, strconv.Itoa(i))] = true // a repetition, where the machine is slow, is the same call
	}
	for method, most := range s.most {
		if n := len(sent[method]); n > most {
			t.Errorf("%s was called %d times, at most %d are allowed", method, n, most)
		}
	}
	if c.left != s.left {
		t.Errorf("it has left its room: %v, want %v", c.left, s.left)
	}
	s.judgeIDs(t, c)
}

// judgeIDs looks at write ids: beats and waits have none, and what is repeated has the same and says so.
func (s *story) judgeIDs(t *testing.T, c *cluster) {
	again, first := 0, ""
	seen := map[string]string{}
	for _, a := range c.heard {
		if (a.method == "Beat" || a.method == "Wait") && (a.id != "" || a.again) {
			t.Errorf("a %s has the write id %q, again %v: it is never repeated", a.method, a.id, a.again)
		}
		if a.id != "" {
			if other := seen[a.id]; other != "" && (other != a.method || !a.again) {
				t.Errorf("the write id %s is used for %s and %s, again %v", a.id, other, a.method, a.again)
			}
			seen[a.id] = a.method
		}
		if a.method != s.same {
			continue
		}
		switch {
		case first == "":
			first = a.id
		case a.id == first && a.again:
			again++
		}
	}
	if s.same != "" && (again == 0 || first == "") {
		t.Errorf("%s was repeated %d times under its write id %q", s.same, again, first)
	}
}

// process is a worker that runs.
type process struct {
	cmd  *exec.Cmd
	out  locked
	err  locked
	done chan struct{}
}

func start(t *testing.T, w worker, c *cluster, s *story, env string) *process {
	t.Helper()
	p := &process{done: make(chan struct{})}
	p.cmd = exec.Command(w.command[0], w.command[1:]...)
	home := t.TempDir()
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, env}, w.env...)
	if s.retry != "" {
		p.cmd.Env = append(p.cmd.Env, retryFor+"="+s.retry)
	}
	if s.socket {
		token := filepath.Join(home, "token")
		if err := os.WriteFile(token, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.cmd.Env = append(p.cmd.Env, "VIGIL_SOCKET="+strings.TrimPrefix(c.servers[0].addr, "unix:"),
			"VIGIL_AGENT=web/builder", "VIGIL_INCARNATION=1", "VIGIL_TOKEN_FILE="+token)
	} else {
		var addrs []string
		for _, one := range c.servers {
			addrs = append(addrs, one.addr)
		}
		p.cmd.Env = append(p.cmd.Env, "VIGIL_ADDR="+strings.Join(addrs, ","))
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // what it printed tells
		close(p.done)
	}()
	t.Cleanup(func() {
		if !p.ended() {
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end asks the worker to end and waits for that.
func (p *process) end(t *testing.T) {
	t.Helper()
	if !p.ended() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may end at this moment
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Errorf("the worker does not end")
	}
}

func (p *process) lines() (all []line) {
	for _, text := range strings.Split(p.out.String(), "\n") {
		var l line
		if json.Unmarshal([]byte(text), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

func (p *process) count(did string) (n int) {
	for _, l := range p.lines() {
		if l.Did == did {
			n++
		}
	}
	return n
}

// locked is written by a process and read by the test.
type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
