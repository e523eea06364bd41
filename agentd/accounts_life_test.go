package agentd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/agentd/accounts"
	"vigil/agentd/disk"
	"vigil/agentd/runner"
	"vigil/agentd/shim"
	"vigil/rpc/gen/vigilv1"
)

// openDir is a data directory that other accounts can pass through: folders of tests are closed to them.
func openDir(t *testing.T, dir string) {
	t.Helper()
	for ; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
}

// newAccountsRig is a host of agents that have accounts of their own: those of runner "run" do what their
// parameter says and end, those of "stay" write down what they find and stay. key is their credential.
func newAccountsRig(t *testing.T) (r *rig, key string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if err := accounts.Default().Here(); err != nil {
		t.Skip(err)
	}
	key = filepath.Join(t.TempDir(), "key")
	credentials := map[string]string{"KEY_FILE": key}
	what := map[string]runner.Param{"what": {Pattern: "(?s).*"}}
	writeKey(t, key, "sk-geheim-1")
	r = newRig(t, time.Minute, false, func(c *Config) {
		openDir(t, c.DataDir)
		c.Runners = append(c.Runners,
			runner.Runner{Name: "run", Program: "sh", Args: []string{"-c", "${param.what}"}, Params: what,
				Credentials: credentials},
			runner.Runner{Name: "stay", Program: "sh", Credentials: credentials,
				Args: []string{"-c", "echo logged in >$HOME/login; chmod 644 $HOME/login; exec sleep 1000"}})
	})
	return r, key
}

func writeKey(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// does has an agent do something in a life of its own and gives what it has printed.
func (r *rig) does(t *testing.T, agent uint32, inc uint64, what string) string {
	t.Helper()
	o := order("start", agent, inc, "run")
	o.Params = map[string]string{"what": what}
	r.stream.orders(t, o)
	x := next(t, r.exits)
	if x.GetAgent() != agent || x.GetStartFailed() {
		t.Fatalf("exit %v", x)
	}
	return x.GetTail()
}

// stays starts an agent that stays and gives its process and its home.
func (r *rig) stays(t *testing.T, agent uint32, inc uint64) (pid int, home string) {
	t.Helper()
	r.stream.orders(t, order("start", agent, inc, "stay"))
	pid = r.startOf(t, agent, inc)
	home = filepath.Join(r.dir, fmt.Sprintf("homes/demo/r%d", agent))
	until(t, "what it finds", func() bool { _, err := os.Stat(home + "/login"); return err == nil })
	return pid, home
}

// startOf waits for the report of a start and gives the process. Those of short lives may come or not: the report of
// the end overtakes them.
func (r *rig) startOf(t *testing.T, agent uint32, inc uint64) (pid int) {
	t.Helper()
	for {
		if s := next(t, r.starts); s.GetAgent() == agent && s.GetIncarnation() == inc {
			return int(s.GetPid())
		}
	}
}

// An agent cannot read what another agent of its room has, nor signal it; its own home outlives its lives.
func TestAgentsOfOneRoomAreStrangers(t *testing.T) {
	r, _ := newAccountsRig(t)
	pid, home := r.stays(t, 1, 1)
	uid := ownerOf(t, home)
	if r.does(t, 2, 1, "echo mine >$HOME/login; id -u; id -g; id -G") == "" {
		t.Error("the other prints nothing")
	}
	life := filepath.Join(r.dir, "lives/1-1")
	for i, what := range []string{"cat " + home + "/login", "ls " + home, "touch " + home + "/x",
		"cat " + life + "/secrets/vigil.token", "cat " + life + "/secrets/KEY_FILE", "ls " + life,
		"cat " + filepath.Join(r.dir, accounts.File), "ls " + filepath.Dir(home),
		"ls " + filepath.Join(r.dir, "work/demo/r1"), "ls " + filepath.Join(r.dir, "files/demo/r1"),
		fmt.Sprintf("kill -0 %d", pid), fmt.Sprintf("cat /proc/%d/environ", pid)} {
		if said := r.does(t, 2, uint64(2+i), what+" && echo done || echo refused"); !strings.HasSuffix(said, "refused\n") {
			t.Errorf("%s: %s", what, said)
		}
	}
	said := strings.Fields(r.does(t, 2, 100, "cat $HOME/login; pwd; id -u; id -G; stat -c %a $HOME"))
	other := ownerOf(t, filepath.Join(r.dir, "homes/demo/r2"))
	want := []string{"mine", filepath.Join(r.dir, "work/demo/r2"), fmt.Sprint(other), fmt.Sprint(other), "700"}
	if strings.Join(said, " ") != strings.Join(want, " ") || other == uid || other == 0 || uid == 0 {
		t.Errorf("the home of account %d beside that of %d: %q, want %q", other, uid, said, want)
	}
}

func ownerOf(t *testing.T, path string) uint32 {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

// Nothing that an agent runs has a capability or can get one.
func TestAgentsHaveNoCapabilities(t *testing.T) {
	r, _ := newAccountsRig(t)
	said := r.does(t, 1, 1, "cat /proc/self/status")
	for _, want := range []string{"CapEff:\t0000000000000000\n", "CapPrm:\t0000000000000000\n",
		"CapInh:\t0000000000000000\n", "CapAmb:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %s", want, said)
		}
	}
}

// A credential is in a file that only its agent reads, as long as the life lasts; a change reaches the next
// life. Neither it nor the token is anywhere else.
func TestCredentialIsOfOneLifeAndNowhereElse(t *testing.T) {
	r, key := newAccountsRig(t)
	pid, home := r.stays(t, 1, 1)
	secrets := filepath.Join(r.dir, "lives/1-1", shim.SecretsFolder)
	for _, name := range []string{"KEY_FILE", tokenFile} {
		info, err := os.Lstat(filepath.Join(secrets, name))
		if err != nil || info.Mode() != 0o600 || ownerOf(t, filepath.Join(secrets, name)) != ownerOf(t, home) {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	token, err := os.ReadFile(filepath.Join(secrets, tokenFile))
	if err != nil || len(token) < 40 {
		t.Fatalf("token %q, %v", token, err)
	}
	for _, secret := range []string{"sk-geheim-1", string(token)} {
		for where, text := range r.everywhere(t, pid, secrets) {
			if strings.Contains(text, secret) {
				t.Errorf("%q stands in %s", secret, where)
			}
		}
	}
	i, err := disk.ReadIntent(filepath.Dir(secrets))
	if err != nil || i.SpoolOwner != int(ownerOf(t, home)) {
		t.Errorf("the journal has owner %d of the spool, %v", i.SpoolOwner, err)
	}
	writeKey(t, key, "sk-geheim-2")
	if text, err := os.ReadFile(filepath.Join(secrets, "KEY_FILE")); err != nil || string(text) != "sk-geheim-1" {
		t.Errorf("the life that runs has %q, %v", text, err)
	}
	r.mu.Lock()
	r.onExit = func(*vigilv1.ReportExitRequest) error {
		if _, err := os.Lstat(secrets); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("when the end is told the secrets are still there: %v", err)
		}
		return nil
	}
	r.mu.Unlock()
	r.stream.orders(t, order("stop", 1, 1, ""))
	next(t, r.exits)
	sum := sha256.Sum256([]byte("sk-geheim-2"))
	if said := r.does(t, 1, 2, "sha256sum $KEY_FILE"); !strings.HasPrefix(said, hex.EncodeToString(sum[:])) {
		t.Errorf("the next life has another: %s", said)
	}
}

// everywhere gives the texts in which no secret may stand: logs, files but those below a folder, and what the
// kernel shows of a process and of all shims.
func (r *rig) everywhere(t *testing.T, pid int, but string) map[string]string {
	t.Helper()
	all := map[string]string{"the log": r.log.String()}
	pids := []int{pid}
	for _, s := range startedIn(t, r.dir) {
		pids = append(pids, s.Shim)
	}
	for _, pid := range pids {
		for _, name := range []string{"environ", "cmdline"} {
			path := fmt.Sprintf("/proc/%d/%s", pid, name)
			until(t, path+" is there, as it is not in the middle of an exec", func() bool {
				text, err := os.ReadFile(path)
				all[path] = string(text)
				return err == nil && len(text) > 0
			})
		}
	}
	err := filepath.WalkDir(r.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && path == but {
			return fs.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			text, err := os.ReadFile(path)
			all[path] = string(text)
			return err
		}
		return err
	})
	if err != nil || all[filepath.Join(filepath.Dir(but), shim.IntentFile)] == "" {
		t.Errorf("the journal was not read: %v", err)
	}
	return all
}

// A credential that cannot be read any more fails the start, and the report says what to do.
func TestCredentialThatIsGoneFailsTheStart(t *testing.T) {
	r, key := newAccountsRig(t)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	r.stream.orders(t, order("start", 1, 1, "stay"))
	if x := next(t, r.exits); !x.GetStartFailed() ||
		!strings.Contains(x.GetReason(), key+" does not exist; make the file") {
		t.Errorf("exit %v", x)
	}
}

// The home of another account is not taken over.
func TestHomeOfAnotherAccountIsRefused(t *testing.T) {
	r, _ := newAccountsRig(t)
	home := filepath.Join(r.dir, "homes/demo/r1")
	if err := errors.Join(os.MkdirAll(home, 0o711), os.Chown(home, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	r.stream.orders(t, order("start", 1, 1, "stay"))
	if x := next(t, r.exits); !x.GetStartFailed() || !strings.Contains(x.GetReason(), "remove it") {
		t.Errorf("exit %v", x)
	}
}

// L7: where nothing else finds what has escaped from an earlier life, its account does: it is dead before the
// next life begins.
func TestL07NothingOfTheAccountOutlivesTheNextStart(t *testing.T) {
	r, _ := newAccountsRig(t)
	r.does(t, 1, 1, "true")
	uid := ownerOf(t, filepath.Join(r.dir, "homes/demo/r1"))
	// It carries no mark and is in no group of the life.
	escaped := exec.Command("/bin/sleep", "1000")
	escaped.Env = []string{}
	escaped.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	if err := escaped.Start(); err != nil {
		t.Fatal(err)
	}
	other := exec.Command("/bin/sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid + 1, Gid: uid + 1}}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = escaped.Process.Kill() // it is dead
		if err := other.Process.Kill(); err != nil {
			t.Errorf("a process of another account: %v", err)
		}
		_ = other.Wait() // it was killed
	})
	r.stream.orders(t, order("start", 1, 2, "stay"))
	r.startOf(t, 1, 2)
	if s := state(escaped.Process.Pid); s != 0 && s != 'Z' {
		t.Errorf("what has escaped is in state %c when the next life runs", s)
	}
	if s := state(other.Process.Pid); s == 0 || s == 'Z' {
		t.Error("a process of another account was killed")
	}
	_ = escaped.Wait() // it was killed
}
