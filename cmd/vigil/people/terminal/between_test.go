//go:build linux

package terminal

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"vigil/agentd/proc"
	"vigil/cmd/vigil/term"
)

// attached runs a program as attach does, and gives what reaches the person's terminal, whose
// name is tty. What is typed is sent once the program has said ready.
func attached(t *testing.T, script, typed string) (shown, tty string, err error) {
	t.Helper()
	person, ours, err := proc.OpenTerminal(uint32(os.Geteuid()))
	if err != nil {
		t.Skip(err)
	}
	if err := proc.ResizeTerminal(person, 33, 77); err != nil {
		t.Fatal(err)
	}
	tty, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", ours.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan string)
	go func() {
		var all bytes.Buffer
		buf := make([]byte, 4096)
		for {
			n, err := person.Read(buf)
			all.Write(buf[:n])
			if typed != "" && strings.Contains(all.String(), "ready") {
				_, _ = person.WriteString(typed)
				typed = ""
			}
			if err != nil || strings.HasSuffix(all.String(), term.Restored()) {
				read <- all.String()
				return
			}
		}
	}()
	err = between(exec.Command("sh", "-c", script), ours, ours)
	shown = <-read
	person.Close() // wakes the copying of what is typed
	ours.Close()
	return shown, tty, err
}

// The program gets a terminal of its own, of the same size, and nothing that it writes but
// drawing gets through; nor does it get a descriptor of the person's terminal.
func TestS09AttachKeepsTheTerminal(t *testing.T) {
	shown, tty, err := attached(t,
		`tty; stty size; ls -l /proc/$$/fd; printf '\033]52;c;eA==\a\033[21t\033[31mred\033[m'; exit 3`, "")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(shown, "33 77") || !strings.Contains(shown, "\x1b[31mred\x1b[m") ||
		!strings.HasSuffix(shown, term.Restored()) {
		t.Errorf("shown is %q", shown)
	}
	for _, bad := range []string{"\x1b]", "\x1b[21t", tty + "\r"} {
		if strings.Contains(shown, bad) {
			t.Errorf("%q in %q", bad, shown)
		}
	}
}

// What is typed arrives, and Ctrl-] ends what does not want to end.
func TestS09AttachEndsWhenThePersonWants(t *testing.T) {
	shown, _, err := attached(t, `stty -echo; echo ready; read line; echo "got $line"`, "hello\r")
	if err != nil || !strings.Contains(shown, "got hello") {
		t.Errorf("%q, %v", shown, err)
	}
	shown, _, err = attached(t, `trap "" INT QUIT TERM HUP; stty -echo; echo ready; read line; echo "got $line"; `+
		`while :; do sleep 1; done`, "x\r\x1dy")
	if err != nil || !strings.HasSuffix(shown, term.Restored()) {
		t.Errorf("%q, it ended with %v", shown, err)
	}
}
