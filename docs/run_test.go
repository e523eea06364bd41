//go:build linux && !race

package docs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long one page may take on a machine that is busy with other tests.
const patience = 5 * time.Minute

// prelude is what every page may use in its comments.
const prelude = `set -euo pipefail
trap 'echo "FAILED at $at: $BASH_COMMAND" >&2' ERR
trap 'trap "" TERM; kill -TERM 0; wait' EXIT

# until_shows PATTERN COMMAND...: repeat the command until its output matches.
until_shows() {
	local pattern=$1; shift
	local end=$((SECONDS + 150))
	until { "$@" 2>&1 || true; } | grep -E -- "$pattern" >/dev/null; do
		if ((SECONDS > end)); then echo "$at: this never showed $pattern: $*"; "$@"; exit 1; fi
		sleep 0.1
	done
}
# field NAME COMMAND...: the first value of a field in the JSON that a command prints.
field() {
	local name=$1; shift
	"$@" --json | grep -oE "\"$name\": ?\"?[^\",}]*" | head -1 | sed 's/.*[:"] *//'
}
pid_of() { field pid vigil agent show "$1"; }
leader_pid() { pgrep -f "^$DEMO/bin/vigil server --config $DEMO/$(field leader vigil status)/"; }
agentd_pid() { pgrep -f "^$DEMO/bin/vigil agentd --config $DEMO/$1/"; } # of a host of the demo
`

// Every command of README.md and of the guide works as it is written.
func TestPagesRun(t *testing.T) {
	for _, need := range []string{"bash", "pgrep"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("the pages are left out: no %s", need)
		}
	}
	program(t)
	for _, name := range tasks(t) {
		p := readPage(t, name)
		if !p.runs() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.run(t, newDemo(t))
		})
	}
}

// runs says whether there is anything to run.
func (p *page) runs() bool {
	for _, b := range p.blocks {
		if b.lang == "sh" && b.notRun == "" {
			return true
		}
	}
	return false
}

// newDemo starts a fleet, with more flags where a test needs them, and gives the environment of a terminal that
// uses it.
func newDemo(t *testing.T, flags ...string) []string {
	t.Helper()
	env := append(os.Environ(), "PATH="+program(t)+":"+os.Getenv("PATH"), "TMPDIR="+t.TempDir(),
		"XDG_CONFIG_HOME="+t.TempDir())
	cmd := exec.Command(filepath.Join(program(t), "vigil"),
		append([]string{"dev", "--every", "0", "--port", "0"}, flags...)...)
	var out lockedBuffer
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended, and this says so
		if <-done; ended != nil {
			t.Errorf("vigil dev: %v", ended)
		}
		if t.Failed() {
			t.Logf("output of vigil dev:\n%s", out.String())
		}
	})
	folder := regexp.MustCompile(`files and logs +(\S+)`)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if text := out.String(); strings.Contains(text, "Ctrl-C ends everything") {
			return append(env, "DEMO="+folder.FindStringSubmatch(text)[1])
		}
		select {
		case <-done:
			t.Fatalf("vigil dev ended")
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("vigil dev does not come up")
		}
	}
}

// run runs the blocks of a page from top to bottom.
func (p *page) run(t *testing.T, env []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(repository, "configs"), filepath.Join(dir, "configs")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "bash")
	cmd.Dir, cmd.Env = dir, append(append(env, goFolders(t)...), "HOME="+dir, "XDG_RUNTIME_DIR="+dir)
	script := filepath.Join(dir, ".page")
	if err := os.WriteFile(script, []byte(p.script(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Args = append(cmd.Args, script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", p.name, err, out)
	}
	t.Logf("took %s:\n%s", time.Since(began).Round(time.Millisecond), out)
}

// goFolders are those in which Go keeps what it has built and fetched, which would be in a page's own home.
func goFolders(t *testing.T) (env []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatalf("go env %s: %v", name, err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

// script is the page as a program of the shell.
func (p *page) script(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(prelude)
	words := map[string]bool{} // that stand for something that only the fleet knows
	for _, one := range p.blocks {
		if !one.test && one.lang != "sh" {
			continue
		}
		if why := one.leftOut(); why != "" {
			t.Logf("left out: %s:%d: %s", p.name, one.line, why)
			continue
		}
		fmt.Fprintf(&b, "at=%s:%d\n", p.name, one.line)
		text := one.text
		if one.test {
			for _, m := range regexp.MustCompile(`(?m)^([A-Z]+)=`).FindAllStringSubmatch(text, -1) {
				words[m[1]] = true
			}
		} else {
			fmt.Fprintf(&b, "echo \"--- $at\"\n")
			text = regexp.MustCompile(`\b[A-Z]+\b`).ReplaceAllStringFunc(text, func(word string) string {
				if words[word] {
					return "$" + word
				}
				return word
			})
		}
		switch {
		case one.beside:
			fmt.Fprintf(&b, "{\n%s\n} &\n", text)
		case one.code != 0:
			fmt.Fprintf(&b, "if %s\nthen false; else (( $? == %d )); fi\n", text, one.code)
		default:
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// leftOut says why a block cannot run here; "": it can.
func (b *block) leftOut() string {
	if b.notRun != "" {
		return b.notRun
	}
	for _, need := range b.needs {
		if need == "root" && os.Geteuid() != 0 {
			return "it needs root"
		}
		if _, err := exec.LookPath(need); need != "root" && err != nil {
			return "it needs " + need
		}
	}
	return ""
}

// lockedBuffer is written by a process and read by the test.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
