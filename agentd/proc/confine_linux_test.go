package proc

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is confined has no capability left to gain, and set-user-id programs give it nothing. Each case is
// tried without it too, so that the test knows what it would look like.
func TestConfinedGainsNoRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	open := t.TempDir()
	for dir := open; dir != "/"; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, info.Mode().Perm()|0o011); err != nil {
				t.Fatal(err)
			}
		}
	}
	id, err := os.ReadFile("/usr/bin/id")
	if err != nil {
		t.Skip(err)
	}
	setuid := filepath.Join(open, "id")
	if err := os.WriteFile(setuid, id, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(setuid, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ confine, root bool }{{false, true}, {true, false}} {
		f := NewForker(NewScanner())
		f.Confine = c.confine
		run(t, f)
		account := &syscall.Credential{Uid: 65534, Gid: 65534}
		if got := printed(t, f, account, setuid, "-u"); (strings.TrimSpace(got) == "0") != c.root {
			t.Errorf("confined %v: a set-user-id program runs as %s", c.confine, got)
		}
		status := printed(t, f, account, "/bin/cat", "/proc/self/status")
		empty := fmt.Sprintf("%016x", 0)
		for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"} {
			if strings.Contains(status, name+":\t"+empty) != (c.confine || name != "CapBnd") {
				t.Errorf("confined %v: %s in %s", c.confine, name, status)
			}
		}
		if strings.Contains(status, "NoNewPrivs:\t1") != c.confine {
			t.Errorf("confined %v: %s", c.confine, status)
		}
	}
}

// Confined takes nothing from this process: the next that it starts has all rights.
func TestConfinedIsOfOneThread(t *testing.T) {
	read := func() (status string) {
		text, err := exec.Command("/bin/cat", "/proc/self/status").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := read()
	inside := ""
	if err := Confined(func() error { inside = read(); return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(before, "NoNewPrivs:\t0") && !strings.Contains(inside, "NoNewPrivs:\t1") {
		t.Errorf("inside: %s", inside)
	}
	if after := read(); rights(after) != rights(before) {
		t.Errorf("before:\n%s\nafter:\n%s", rights(before), rights(after))
	}
}

// rights are the lines of a status that are about rights.
func rights(status string) string {
	var lines []string
	for line := range strings.Lines(status) {
		if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// printed gives what a program prints that f starts under an account.
func printed(t *testing.T, f *Forker, account *syscall.Credential, path string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	tree, err := f.Start(Spec{Mark: Mark{"rights", 1, 1}, Path: path, Args: args, Dir: "/", Output: &out,
		Credential: account})
	if err != nil {
		t.Fatal(err)
	}
	<-tree.Done()
	return out.String()
}
