//go:build unix

package notify

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain plays the program when it is started as one: no shell is needed.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "notified" {
		os.Exit(m.Run())
	}
	switch what := os.Args[2]; what {
	case "writes":
		body, _ := io.ReadAll(os.Stdin)
		text := fmt.Sprintf("%s\n%s\n%s\n%q", os.Getenv("VIGIL_NOTICE_ID"), os.Getenv("VIGIL_TEST_HIDDEN"),
			body, os.Args[4:])
		if err := os.WriteFile(os.Args[3], []byte(text), 0o600); err != nil {
			os.Exit(1)
		}
	case "fails":
		os.Exit(3)
	case "hangs":
		fifo, err := os.OpenFile(os.Args[3], os.O_WRONLY, 0) // says that it runs, and holds it open
		if err != nil {
			os.Exit(1)
		}
		_, _ = fifo.WriteString("x")
		select {} // until it is killed
	case "dies":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	os.Exit(0)
}

func program(t *testing.T, args ...string) *Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewCommand(self, append([]string{"notified"}, args...))
}

// A program gets the notice on its standard input, the id in its environment, its arguments
// as they are, and nothing of the server's environment that it does not need.
func TestCommandGetsTheNotice(t *testing.T) {
	t.Setenv("VIGIL_TEST_HIDDEN", "hidden")
	file := filepath.Join(t.TempDir(), "out")
	body := `{"id":"c1-7","text":"$(touch x); ` + strings.Repeat("x", 200_000) + `"}`
	if err := program(t, "writes", file, "$HOME", "a b;c").Send(t.Context(), "c1-7", []byte(body)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if want := "c1-7\n\n" + body + "\n" + `["$HOME" "a b;c"]`; err != nil || string(got) != want {
		t.Errorf("%v: %.100s ... %s", err, got, got[max(0, len(got)-60):])
	}
}

func TestCommandFailures(t *testing.T) {
	for what, want := range map[string]string{"fails": "exit code 3", "dies": "it was killed"} {
		if err := program(t, what).Send(t.Context(), "c1-7", nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	if err := NewCommand(filepath.Join(t.TempDir(), "none"), nil).Send(t.Context(), "c1-7",
		nil); err == nil || err.Error() != "it cannot be started" {
		t.Errorf("no program: %v", err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- program(t, "hangs", fifo).Send(ctx, "c1-7", nil) }()
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel() // as its timeout does
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		t.Fatal("it is waited for although its time is over")
	}
	if err == nil || err.Error() != "it has not ended in time" {
		t.Errorf("a program that hangs: %v", err)
	}
	if rest, err := io.ReadAll(f); err != nil || len(rest) != 0 { // the end of the last writer
		t.Errorf("it still runs: %q, %v", rest, err)
	}
}
