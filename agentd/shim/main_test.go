//go:build linux

package shim

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vigil/agentd/agenttest"
	"vigil/agentd/proc"
)

// The test binary is also the shim, the daemon and the agent.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "shim":
		if len(os.Args) > 3 {
			newGroup = func(string, proc.Limits) (*proc.Cgroup, []string) {
				if os.Args[3] == "late" { // it took hours
					_ = os.WriteFile(os.Args[2], []byte("7200"), 0o600)
				}
				return nil, []string{"no control group of its own"}
			}
		}
		os.Exit(Serve(os.Stdin, Clock{Boot: watched(os.Args[2]), Awake: func() time.Duration {
			return shifted(os.Args[2])() - seconds(os.Args[2]+".asleep")
		}}))
	case len(os.Args) > 3 && os.Args[1] == "daemon":
		beDaemon(os.Args[2], os.Args[3:]...)
	case os.Getenv("TEST_AGENT") != "":
		beAgent(os.Getenv("TEST_AGENT"))
	default:
		goleak.VerifyTestMain(m)
	}
}

// shifted gives a boot clock that runs ahead by the seconds in a file.
func shifted(path string) func() time.Duration {
	return func() time.Duration { return BootClock() + seconds(path) }
}

// watched is the same clock, which notes beside the file how far ahead it was when it was looked at last.
func watched(path string) func() time.Duration {
	var mu sync.Mutex
	var last time.Duration
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		ahead := seconds(path)
		if ahead != last {
			last = ahead
			_ = os.WriteFile(path+".seen", fmt.Append(nil, ahead.Seconds()), 0o600) // a test waits in vain then
		}
		return BootClock() + ahead
	}
}

// seconds reads a file; 0: there is none.
func seconds(path string) time.Duration {
	text, _ := os.ReadFile(path)
	n, _ := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return time.Duration(n * float64(time.Second))
}

// beDaemon starts a shim as agentd does, says so, and waits to be killed.
func beDaemon(folder string, shim ...string) {
	mode := os.Getenv("TEST_MODE")
	lock, err := takeLock(folder)
	if err != nil {
		panic(err)
	}
	s, err := launcher(shim...).Start(specFor(folder, mode, os.Getenv("TEST_SOCKET")), lock)
	if err != nil {
		panic(err)
	}
	fmt.Println("started", s.PID(), s.Started().Shim)
	select {}
}

// beAgent tells its tale on the unix socket TEST_SOCKET: "up MODE PID" first. Every
// word that it hears is answered, so that a test sees whether it runs. The end of
// the connection is the proof of its end.
func beAgent(mode string) {
	if mode == "chain" {
		beChain()
		return
	}
	if mib, is := strings.CutPrefix(mode, "eat "); is {
		eat(mib)
		return
	}
	tell, err := net.Dial("unix", os.Getenv("TEST_SOCKET"))
	if err != nil {
		fmt.Println("no socket:", err)
		os.Exit(9)
	}
	terms := make(chan os.Signal, 1)
	if mode != "plain" {
		signal.Notify(terms, syscall.SIGTERM)
	}
	for _, way := range strings.Split(mode, "+")[1:] {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TEST_AGENT=deaf")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: way == "session"}
		if err := cmd.Start(); err != nil {
			os.Exit(8)
		}
	}
	fmt.Fprintln(tell, "up", mode, os.Getpid())
	go func() {
		for range terms {
			if !strings.HasPrefix(mode, "deaf") {
				fmt.Fprintln(tell, "bye")
				os.Exit(0)
			}
			fmt.Fprintln(tell, "deaf")
		}
	}()
	for hear := bufio.NewScanner(tell); hear.Scan(); {
		word, arg, _ := strings.Cut(hear.Text(), " ")
		switch word {
		case "exit":
			code, _ := strconv.Atoi(arg)
			os.Exit(code)
		case "print":
			fmt.Println(arg)
		case "many":
			n, _ := strconv.Atoi(arg)
			for i := range n {
				fmt.Println("line", i)
			}
		case "terminal":
			f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
			if err == nil {
				_, err = fmt.Fprintln(f, "to the terminal")
			}
			fmt.Fprintln(tell, "terminal", err)
		case "eat":
			eat(arg)
		case "child": // of this program, which does the rest and ends
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TEST_AGENT="+arg)
			fmt.Fprintln(tell, "child", cmd.Run())
		case "chain":
			beChain()
		}
		fmt.Fprintln(tell, "did", hear.Text())
	}
	os.Exit(7) // the test is gone
}

// eat takes so many MiB of memory.
func eat(mib string) {
	n, _ := strconv.Atoi(mib)
	hog = make([]byte, n<<20)
	for i := 0; i < len(hog); i += 4096 {
		hog[i] = 1
	}
}

var hog []byte

// beChain starts a process that forks and flees its session at every step.
func beChain() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TEST_AGENT=chain")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		os.Exit(8)
	}
}

// launcher starts shims that read their clock through a file; with a second word
// they have no control groups.
func launcher(words ...string) *Launcher {
	return &Launcher{Command: append([]string{os.Args[0], "shim"}, words...)}
}

func specFor(folder, mode, socket string) Spec {
	return Spec{
		Folder: folder, Mark: markOf(folder), Agent: "demo/builder", Runner: "test", Kind: "exec",
		Path: agenttest.Program(), Dir: "/", Env: []string{"TEST_AGENT=" + mode, "TEST_SOCKET=" + socket},
		TTL: time.Hour, Acknowledged: BootClock(), LogFolder: folder + "/logs",
	}
}

func markOf(folder string) proc.Mark {
	return proc.Mark{Host: "test" + strings.ReplaceAll(folder, "/", "-"), Agent: 7, Incarnation: 3}
}

func takeLock(folder string) (*os.File, error) {
	lock, err := os.OpenFile(folder+"/"+LockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	return lock, err
}

// create makes a file in the life folder.
func (r *rig) create(name string) *os.File {
	r.t.Helper()
	f, err := os.Create(filepath.Join(r.folder, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// drain keeps a stream from filling up.
func drain(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
