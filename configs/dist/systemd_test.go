package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// machine is a Debian in a container, with a systemd of its own as process 1 and no network but loopback.
type machine struct {
	t    *testing.T
	root string
	run  *exec.Cmd
}

// fresh makes a Debian with systemd; VIGIL_DEBIAN_SYSTEMD names one that was made before, to save its minute.
func fresh(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("left out: only root can start a machine")
	}
	for _, tool := range []string{"debootstrap", "systemd-nspawn", "nsenter"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("left out: there is no " + tool)
		}
	}
	root := os.Getenv("VIGIL_DEBIAN_SYSTEMD")
	if root == "" {
		root = t.TempDir()
		output(t, "debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,tmux", "bookworm", root)
	}
	return &machine{t: t, root: root}
}

// boot starts the machine, and waits until its systemd has started all that it wants.
func (m *machine) boot() {
	m.t.Helper()
	m.run = exec.Command("systemd-nspawn", "-D", m.root, "--register=no", "--keep-unit", "--private-network",
		"--boot", "--console=pipe")
	if err := m.run.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.until("the machine is up", func() error {
		out, err := m.try("systemctl is-system-running")
		if strings.HasPrefix(out, "running") || strings.HasPrefix(out, "degraded") {
			return nil
		}
		return fmt.Errorf("%s %w", out, err)
	})
}

// try runs a script in the machine, as root.
func (m *machine) try(script string) (string, error) {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", m.run.Process.Pid))
	if err != nil || len(strings.Fields(string(children))) == 0 {
		return "", errors.Join(errors.New("it has no process 1 yet"), err)
	}
	cmd := exec.Command("nsenter", "-t", strings.Fields(string(children))[0], "-m", "-u", "-i", "-n", "-p", "-C",
		"sh", "-ec", "cd /srv; "+script)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "DEBIAN_FRONTEND=noninteractive"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (m *machine) in(script string) string {
	m.t.Helper()
	out, err := m.try(script)
	if err != nil {
		m.t.Fatalf("%s\n%v\n%s", script, err, out)
	}
	return out
}

func (m *machine) until(what string, fn func() error) {
	m.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		err := fn()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			m.t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
	}
}

// off shuts the machine down as its administrator would.
func (m *machine) off() {
	m.t.Helper()
	m.in("systemctl poweroff")
	ended := make(chan error, 1)
	go func() { ended <- m.run.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			m.t.Fatalf("the machine went down: %v", err)
		}
	case <-time.After(patience):
		_ = m.run.Process.Kill() // its systemd hangs
		m.t.Fatal("the machine does not go down")
	}
	m.run = nil
}

// close ends a machine that a test has left running.
func (m *machine) close() {
	if m.run != nil {
		_ = m.run.Process.Kill() // it may have ended
		_ = m.run.Wait()
	}
}

// lives gives the process and the life of each agent that runs.
func (m *machine) lives() (map[string]string, error) {
	out, err := m.try("vigil agent list --json")
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	var list struct {
		Agents []struct {
			Name, Incarnation, Process string
			PID                        int
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, a := range list.Agents {
		if a.Process == "running" {
			found[a.Name] = fmt.Sprintf("life %s, process %d", a.Incarnation, a.PID)
		}
	}
	return found, nil
}

// runs waits until so many agents run.
func (m *machine) runs(n int) map[string]string {
	m.t.Helper()
	var found map[string]string
	m.until(fmt.Sprintf("%d agents run", n), func() (err error) {
		if found, err = m.lives(); err == nil && len(found) != n {
			err = fmt.Errorf("%v run", found)
		}
		return err
	})
	return found
}

func (m *machine) same(when string, before map[string]string) {
	m.t.Helper()
	for name, life := range m.runs(len(before)) {
		if before[name] != life {
			m.t.Errorf("%s: %s was %s and is %s", when, name, before[name], life)
		}
	}
}

// guide gives the first commands of a page of the guide behind some words, wherever their lines break.
func guide(t *testing.T, page, after string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/guide", page))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.ReplaceAll(regexp.QuoteMeta(after), " ", `\s+`)
	found := regexp.MustCompile("(?s)" + words + ".*?```sh\n(.*?)```").FindStringSubmatch(string(text))
	if found == nil {
		t.Fatalf("%s has no commands behind %q", page, after)
	}
	return found[1]
}

// earlier makes the package again as a commit of a day before would: what is in it is the same, but for the
// version.
func earlier(t *testing.T, to string) {
	t.Helper()
	checkout := filepath.Join(t.TempDir(), "checkout")
	output(t, "git", "clone", "--quiet", "../..", checkout)
	seconds, err := strconv.ParseInt(
		strings.TrimSpace(output(t, "git", "-C", checkout, "log", "-1", "--format=%ct")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	day := fmt.Sprintf("%d +0000", seconds-24*60*60)
	output(t, "env", "GIT_COMMITTER_DATE="+day, "GIT_AUTHOR_DATE="+day, "git", "-C", checkout, "-c", "user.name=test",
		"-c", "user.email=test@localhost", "commit", "--quiet", "--allow-empty", "-m", "the day before")
	r, err := releaseOf(checkout)
	if err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "dist")
	if err := r.make(made, "linux/amd64"); err != nil {
		t.Fatal(err)
	}
	output(t, "sh", "-c", "cp "+made+"/*_amd64.deb "+to)
}

// program waits until the server and agentd both run the version of the package that is installed, and gives it.
func (m *machine) program(when string) (version string) {
	m.t.Helper()
	version = strings.TrimSpace(m.in("dpkg-query -W -f '${Version}' vigil"))
	m.until("server and agentd run the package", func() error {
		out, err := m.try("for unit in vigil-server vigil-agentd; " +
			"do cmp /usr/bin/vigil /proc/$(systemctl show -P MainPID $unit)/exe; done; vigil status")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	m.t.Logf("%s: %s", when, version)
	return version
}

const threeRunners = `
cat >/etc/vigil/runners.d/careful.yaml <<END
name: careful
program: sh
args: [-c, 'trap "sleep 1; echo finished; exit 0" TERM; while :; do sleep 1 & wait; done']
END
cat >/etc/vigil/runners.d/terminal.yaml <<END
name: terminal
kind: tmux
program: sh
args: [-c, 'while :; do sleep 1; done']
END
cat >room.yaml <<END
room: shop
roles:
  - {name: careful, runner: careful, replicas: 3}
  - {name: command, runner: command}
  - {name: terminal, runner: terminal, replicas: 2}
END
systemctl reload vigil-agentd
vigil apply -f room.yaml
`

// A machine with a systemd of its own is made a server and a host by the words of the guide. Its agents
// live on when an older package is installed and then this one again, when the server hangs and systemd's
// watchdog ends it, and when the package is removed. When the machine goes down they are asked to end, and that
// is told in time, so that they run again as soon as it is up.
func TestMachineWithSystemd(t *testing.T) {
	dir := filepath.Dir(made(t, "*_amd64.deb"))
	m := fresh(t)
	defer m.close()
	output(t, "sh", "-c", "cp "+dir+"/*_amd64.deb "+dir+"/SHA256SUMS "+m.root+"/srv")
	if err := os.Mkdir(filepath.Join(m.root, "srv/before"), 0o755); err != nil {
		t.Fatal(err)
	}
	earlier(t, filepath.Join(m.root, "srv/before"))
	m.boot()
	m.in(strings.ReplaceAll(guide(t, "install.md", "On Debian or Ubuntu"), "10.0.0.1", "127.0.0.1"))
	m.in("TOKEN=$(vigil token create --role host | grep -o 'vigil1[.].*')\n" +
		strings.ReplaceAll(strings.ReplaceAll(guide(t, "hosts.md", "On a machine that has the package"),
			" TOKEN ", " $TOKEN "), "10.0.0.1", "127.0.0.1"))
	m.in(threeRunners)
	before := m.runs(6)

	newer := m.program("installed")
	m.in("dpkg -i before/vigil_*_amd64.deb")
	if older := m.program("after a downgrade"); older == newer {
		t.Errorf("%s is no other version", older)
	}
	m.same("after a downgrade", before)
	m.in("dpkg -i vigil_*_amd64.deb")
	if again := m.program("after an upgrade"); again != newer {
		t.Errorf("the upgrade ended with %s and not with %s", again, newer)
	}
	m.same("after an upgrade", before)

	m.in("mkdir -p /run/systemd/system/vigil-server.service.d && printf '[Service]\\nWatchdogSec=10s\\n'" +
		" >/run/systemd/system/vigil-server.service.d/quick.conf && systemctl daemon-reload && " +
		"systemctl restart vigil-server")
	m.in("kill -STOP $(systemctl show -P MainPID vigil-server)")
	m.until("systemd starts the server again", func() error {
		out, err := m.try("systemctl show -P NRestarts vigil-server; vigil status >/dev/null")
		if err == nil && !strings.HasPrefix(out, "1") {
			err = fmt.Errorf("%s restarts", out)
		}
		return err
	})
	m.same("after the server hung", before)

	m.off()
	m.boot()
	log := m.in("journalctl -b -1 -u vigil-agentd --no-pager")
	if n := strings.Count(log, "agent ended:"); n != 6 || !strings.Contains(log, "host has left") {
		t.Errorf("the machine went down, and of its agents %d were ended and told:\n%s", n, log)
	}
	after := m.runs(6)
	for name, life := range after {
		if before[name] == life {
			t.Errorf("%s outlived its machine: %s", name, life)
		}
	}
	if out := m.in("vigil agent show shop/careful"); !strings.Contains(out, "host is shutting down") {
		t.Errorf("why the last life ended is not told:\n%s", out)
	}

	m.in("dpkg -r vigil")
	for name, life := range after {
		m.in("kill -0 " + life[strings.LastIndex(life, " ")+1:] + " || { echo " + name + " ended with the package; exit 1; }")
	}
	m.off()
}
