package agentd

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"vigil/agentd/shim"
)

// The test binary is also the agent: a runner starts it with TEST_AGENT set. It
// tells its tale on the unix socket TEST_SOCKET, whose end is the proof of its end.
func TestMain(m *testing.M) {
	if mode := os.Getenv("TEST_AGENT"); mode != "" {
		beAgent(mode)
		return
	}
	if spec := os.Getenv("TEST_AGENTD"); spec != "" {
		beDaemon(spec)
	}
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		clock := testClock(strings.Join(os.Args[2:], ""))
		os.Exit(shim.Serve(os.Stdin, shim.Clock{Boot: clock, Awake: clock}))
	}
	goleak.VerifyTestMain(m)
}

// testClock is the boot clock, ahead by what stands in a file; none: the real one.
func testClock(file string) func() time.Duration {
	if file == "" {
		return shim.BootClock
	}
	return func() time.Duration {
		text, _ := os.ReadFile(file)
		ahead, _ := time.ParseDuration(string(text))
		return shim.BootClock() + ahead
	}
}

func beAgent(mode string) {
	tell, err := net.Dial("unix", os.Getenv("TEST_SOCKET"))
	if err != nil {
		fmt.Println("no socket:", err)
		os.Exit(9)
	}
	say := func(words ...any) { fmt.Fprintln(tell, append([]any{mode, os.Getpid()}, words...)...) }
	terms := make(chan os.Signal, 1)
	if mode != "plain" && mode != "print" {
		signal.Notify(terms, syscall.SIGTERM)
	}
	hear := bufio.NewScanner(tell)
	switch mode {
	case "crash":
		for i := range 2000 {
			fmt.Println("line", i, "\xff")
		}
		fmt.Fprintln(os.Stderr, "last words")
		say("up")
		hear.Scan()
		os.Exit(3)
	case "fork":
		for _, session := range []bool{false, true} {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "TEST_AGENT=deaf")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
			if err := cmd.Start(); err != nil {
				os.Exit(8)
			}
		}
	case "env", "tells":
		say(strings.Join(os.Args[1:], " "), "|", strings.Join(os.Environ(), " "))
	case "print":
		say("up")
		for hear.Scan() {
			fmt.Println(hear.Text())
			say("printed")
		}
	}
	say("up")
	if mode == "calls" {
		go func() { <-terms; os.Exit(0) }()
		for hear.Scan() {
			say("did " + hear.Text() + ": " + callAs(hear.Text()))
		}
		os.Exit(7)
	}
	if mode == "deaf" {
		for range terms {
			say("deaf to SIGTERM")
		}
	}
	// A word on the socket is answered, so that a test can see whether we run.
	go func() {
		for hear.Scan() {
			say("heard", hear.Text())
		}
		os.Exit(7) // the test is gone
	}()
	select {
	case <-terms:
		say("bye")
		os.Exit(0)
	case <-time.After(5 * time.Minute):
		os.Exit(6)
	}
}
