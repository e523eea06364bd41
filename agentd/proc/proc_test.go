//go:build linux

package proc

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vigil/agentd/agenttest"
)

const patience = 30 * time.Second

// The test binary is also the process that is started, by TEST_PROC.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_PROC") {
	case "":
		goleak.VerifyTestMain(m)
	case "wait":
		fmt.Println("up", os.Getpid())
		stay()
	case "deaf":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up", os.Getpid())
		stay()
	case "family":
		for _, session := range []bool{false, true} {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TEST_PROC=deaf")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
			cmd.Stdout = os.Stdout
			if err := cmd.Start(); err != nil {
				panic(err)
			}
		}
		fmt.Println("up", os.Getpid())
		stay()
	case "daemon":
		f := NewForker(NewScanner())
		go f.Run(context.Background())
		if _, err := f.Start(spec("wait", Mark{"h", 1, 1}, os.Stdout)); err != nil {
			panic(err)
		}
		select {}
	case "chain", "link":
		fmt.Println("up", os.Getpid())
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TEST_PROC=link")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if os.Getenv("TEST_PROC") == "chain" {
			stay()
		}
	case "first":
		if os.Getpid() == 1 {
			code, err := RunAsInit(os.Args[0], os.Args)
			if err != nil {
				fmt.Println(err)
			}
			os.Exit(code)
		}
		ends := EndsContainer()
		_, told := os.LookupEnv(envInit)
		fmt.Printf("%s, ends with it: %v, inherited: %v\n", leaveOrphan(), ends, told)
		terminated := make(chan os.Signal, 1)
		signal.Notify(terminated, syscall.SIGTERM)
		_ = syscall.Kill(1, syscall.SIGTERM) // as the container's runtime does
		<-terminated
		os.Exit(7)
	case "reaper", "reaper without looks":
		fmt.Println(reaper(os.Getenv("TEST_TREE"), os.Getenv("TEST_PROC") != "reaper"))
	case "flees":
		fleer()
	case "says":
		fmt.Println("up", os.Getpid())
	case "terminal":
		fmt.Println(describeTerminal())
	case "probe":
		fmt.Println(NewScanner().Probe(Mark{"probe", 1, 1}, &syscall.Credential{Uid: 65534, Gid: 65534}))
	case "sweep":
		killed, left := NewScanner().Sweep(os.Getenv("TEST_HOST"), nil)
		fmt.Println("swept", killed, len(left))
	}
}

// stay goes on until this process is killed, as it is in every test. What a test leaves behind that has died
// itself ends after five minutes.
func stay() { <-time.After(5 * time.Minute) }

func spec(mode string, m Mark, to io.Writer) Spec {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Spec{Mark: m, Path: self, Dir: "/", Env: []string{"TEST_PROC=" + mode}, Output: to}
}

// forker runs one for the test.
func forker(t *testing.T) *Forker {
	t.Helper()
	f := NewForker(NewScanner())
	run(t, f)
	return f
}

// run has f work for the test.
func run(t *testing.T, f *Forker) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() { f.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		tasks.Wait()
	})
}

// pids reads n lines "up PID".
func readPids(t *testing.T, from io.Reader, n int) []int {
	t.Helper()
	found := make(chan []int, 1)
	go func() {
		var pids []int
		lines := bufio.NewScanner(from)
		for len(pids) < n && lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), "up "); ok {
				pid, _ := strconv.Atoi(rest)
				pids = append(pids, pid)
			}
		}
		found <- pids
	}()
	select {
	case pids := <-found:
		if len(pids) == n {
			return pids
		}
		t.Fatalf("only %v said that they are up", pids)
	case <-time.After(patience):
		t.Fatal("they do not come up")
	}
	return nil
}

func start(t *testing.T, f *Forker, mode string, n int) (*Tree, []int) {
	t.Helper()
	r, w := io.Pipe()
	t.Cleanup(func() { r.Close() })
	tree, err := f.Start(spec(mode, Mark{"test-host", uint32(os.Getpid()), 1}, w))
	if err != nil {
		t.Fatal(err)
	}
	pids := readPids(t, r, n)
	go io.Copy(io.Discard, r)
	t.Cleanup(func() {
		tree.Stop(0)
		await(t, tree)
	})
	return tree, pids
}

func await(t *testing.T, tree *Tree) {
	t.Helper()
	select {
	case <-tree.Done():
	case <-time.After(patience):
		t.Fatal("the tree does not end")
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	agenttest.Until(t, patience, 2*time.Millisecond, what, ok)
}

func stateOf(pid int) byte {
	s, _, _ := stat(pid)
	return s
}

// L7: a frozen tree does not run, nor does what has left its session.
func TestFreezeReachesTheWholeTree(t *testing.T) {
	tree, pids := start(t, forker(t), "family", 3)
	if err := tree.Freeze(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		until(t, "stopped", func() bool { return stateOf(pid) == 'T' })
	}
	if err := tree.Thaw(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		until(t, "running", func() bool { return stateOf(pid) != 'T' })
	}
	tree.Stop(0)
	await(t, tree)
	for _, pid := range pids {
		if s := stateOf(pid); s != 0 && s != 'Z' {
			t.Errorf("process %d is in state %c after the end of its tree", pid, s)
		}
	}
	if e := tree.Exit(); e.Signal != "killed" || e.Code != -1 {
		t.Errorf("exit %+v", e)
	}
}

func TestFrozenTreeIsKilled(t *testing.T) {
	tree, _ := start(t, forker(t), "deaf", 1)
	if err := tree.Freeze(); err != nil {
		t.Fatal(err)
	}
	tree.Stop(10 * time.Millisecond)
	await(t, tree)
}

func TestShorterGraceWins(t *testing.T) {
	tree, _ := start(t, forker(t), "deaf", 1)
	tree.Stop(time.Hour)
	tree.Stop(10 * time.Millisecond)
	tree.Stop(time.Hour)
	await(t, tree)
}

func TestStartFails(t *testing.T) {
	f := forker(t)
	for _, change := range []func(*Spec){
		func(s *Spec) { s.Path = "/no/such/program" },
		func(s *Spec) { s.Dir = "/no/such/folder" },
		func(s *Spec) { s.Limits.OpenFiles = 1 << 60 },
	} {
		s := spec("wait", Mark{"h", 1, 1}, io.Discard)
		change(&s)
		if _, err := f.Start(s); err == nil {
			t.Errorf("%+v was started", s)
		}
	}
}

// A leader dies with the daemon that started it, and only then: threads of the
// daemon that come and go do it no harm.
func TestLeadersDieWithTheirDaemon(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_PROC=daemon")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := readPids(t, out, 1)[0]
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	until(t, "the end of the leader", func() bool { s := stateOf(pid); return s == 0 || s == 'Z' })
}

func TestLeadersSurviveTheEndOfOtherThreads(t *testing.T) {
	tree, pids := start(t, forker(t), "wait", 1)
	var tasks sync.WaitGroup
	for range 50 {
		tasks.Go(func() { runtime.LockOSThread() }) // the thread ends with the goroutine
	}
	tasks.Wait()
	if err := tree.Freeze(); err != nil {
		t.Fatal(err)
	}
	until(t, "stopped, and so alive", func() bool { return stateOf(pids[0]) == 'T' })
}

// A daemon that was started from inside one of its own old agents does not kill
// itself or the shell that it was started from.
func TestSweepSparesItselfAndItsAncestors(t *testing.T) {
	host := fmt.Sprintf("sweep-%d", os.Getpid())
	mark := Mark{host, 1, 1}
	stray := exec.Command(os.Args[0])
	stray.Env = []string{mark.Env(), "TEST_PROC=wait"}
	if err := stray.Start(); err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() { _ = stray.Wait() })
	defer tasks.Wait()
	until(t, "the stray", func() bool { return len(NewScanner().Find(mark)) == 1 })
	shell := exec.Command("/bin/sh", "-c", `"$0"; echo spared`, os.Args[0])
	shell.Env = []string{mark.Env(), "TEST_PROC=sweep", "TEST_HOST=" + mark.Host}
	out, err := shell.Output()
	if err != nil || string(out) != "swept 1 0\nspared\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestManyAsksShareALook(t *testing.T) {
	s := NewScanner()
	tree, pids := start(t, forker(t), "wait", 1)
	var tasks sync.WaitGroup
	for range 100 {
		tasks.Go(func() {
			if found := s.Find(tree.mark); !slices.Equal(found, pids) {
				t.Errorf("found %v, want %v", found, pids)
			}
		})
	}
	tasks.Wait()
}

func BenchmarkLook(b *testing.B) {
	n := len(pids())
	for b.Loop() {
		marked()
	}
	b.ReportMetric(float64(n), "processes")
}
