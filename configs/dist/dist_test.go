package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made is the folder that `make dist-test` has filled; a test that needs it is left out elsewhere.
func made(t *testing.T, pattern string) string {
	t.Helper()
	dir := os.Getenv("VIGIL_DIST")
	if dir == "" {
		t.Skip("left out: make dist-test makes the packages first")
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s in %s: %v, %v, want one", pattern, dir, found, err)
	}
	return found[0]
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The deb holds what people look for in a package, with owners and modes that let nobody but root change it.
func TestDebHoldsWhatItShould(t *testing.T) {
	deb := made(t, "*_amd64.deb")
	listed := output(t, "dpkg-deb", "-c", deb)
	for _, path := range []string{"/usr/bin/vigil", "/usr/lib/systemd/system/vigil-server.service",
		"/usr/lib/systemd/system/vigil-agentd.service", "/usr/lib/sysusers.d/vigil.conf",
		"/usr/lib/tmpfiles.d/vigil.conf", "/usr/share/vigil/server.yaml", "/usr/share/vigil/agentd.yaml",
		"/usr/share/man/man1/vigil.1.gz", "/usr/share/man/man1/vigil-task-create.1.gz",
		"/usr/share/bash-completion/completions/vigil", "/usr/share/zsh/vendor-completions/_vigil",
		"/usr/share/fish/vendor_completions.d/vigil.fish", "/usr/share/doc/vigil/copyright",
		"/usr/share/doc/vigil/changelog.gz", "/usr/share/doc/vigil/examples/runners.d/command.yaml"} {
		if !strings.Contains(listed, " ."+path+"\n") {
			t.Errorf("the deb has no %s", path)
		}
	}
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		if fields[1] != "root/root" || fields[0][5] == 'w' || fields[0][8] == 'w' {
			t.Errorf("not root's own: %s", line)
		}
	}
	if strings.Contains(listed, " ./etc/") || strings.Contains(output(t, "dpkg-deb", "-I", deb), "conffiles") {
		t.Error("the deb brings something in /etc, and an upgrade would ask about it")
	}
	if unit := output(t, "sh", "-c", "dpkg-deb --fsys-tarfile "+deb+
		" | tar xO ./usr/lib/systemd/system/vigil-server.service"); strings.Contains(unit, "/usr/local") {
		t.Error("the unit names /usr/local, where no package puts anything")
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		text := output(t, "dpkg-deb", "-I", deb, script)
		if !strings.HasPrefix(text, "#!/bin/sh\n") || !strings.Contains(text, "\nset -e\n") {
			t.Errorf("%s: %.40q", script, text)
		}
		for _, word := range []string{"kill", "rm -", "userdel"} {
			if strings.Contains(strings.ReplaceAll(text, "KillMode", ""), word) {
				t.Errorf("%s says %q", script, word)
			}
		}
	}
}

// The list of parts names what the program was linked of.
func TestPartsAreNamed(t *testing.T) {
	text, err := os.ReadFile(made(t, "*-linux-amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BomFormat  string
		Components []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range bom.Components {
		found[c.Name] = c.Version
	}
	if bom.BomFormat != "CycloneDX" || found["github.com/hashicorp/raft"] == "" || found["go"] == "" {
		t.Errorf("%s: %v", bom.BomFormat, found)
	}
}

// The rpm has the same scripts, and like the deb no file of its own in /etc.
func TestRpmByItsMetadata(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("there is no rpm")
	}
	rpm := made(t, "*.x86_64.rpm")
	for args, want := range map[string]string{
		"-qp --queryformat %{NAME}/%{ARCH}/%{BUILDHOST}": "vigil/x86_64/vigil",
		"-qp --scripts": "systemctl try-restart vigil-server.service vigil-agentd.service",
		"-qpl":          "/usr/lib/systemd/system/vigil-agentd.service",
	} {
		if got := output(t, "rpm", append(strings.Fields(args), rpm)...); !strings.Contains(got, want) {
			t.Errorf("rpm %s: %s\nwant %s", args, got, want)
		}
	}
	const each = `[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]`
	listed := output(t, "rpm", "-qp", "--queryformat", each, rpm)
	for line := range strings.Lines(listed) {
		fields := strings.Fields(line)
		if len(fields) != 4 || fields[1] != "root" || fields[2] != "root" || fields[0][5] == 'w' || fields[0][8] == 'w' {
			t.Errorf("not root's own: %s", line)
		}
	}
	if !strings.Contains(listed, "-rwxr-xr-x root root /usr/bin/vigil\n") {
		t.Errorf("the program: %s", listed)
	}
	scripts := output(t, "rpm", "-qp", "--scripts", rpm)
	for _, word := range []string{"kill", "rm -", "userdel"} {
		if strings.Contains(strings.ReplaceAll(scripts, "KillMode", ""), word) {
			t.Errorf("its scripts say %q:\n%s", word, scripts)
		}
	}
	if strings.Contains(listed, " /etc/") {
		t.Errorf("the rpm brings something in /etc:\n%s", listed)
	}
	for _, path := range []string{"/usr/lib/sysusers.d/vigil.conf", "/usr/lib/tmpfiles.d/vigil.conf",
		"/usr/share/vigil/server.yaml", "/usr/share/vigil/agentd.yaml", "/usr/share/man/man1/vigil.1.gz",
		"/usr/share/doc/vigil/examples/runners.d/command.yaml"} {
		if !strings.Contains(listed, " "+path+"\n") {
			t.Errorf("the rpm has no %s", path)
		}
	}
}

// next makes a newer package of a deb, whose configurations have one more comment.
func next(t *testing.T, deb, to string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deb")
	output(t, "dpkg-deb", "-R", deb, dir)
	for _, name := range []string{"server.yaml", "agentd.yaml"} {
		output(t, "sh", "-c", "echo '# of the next version' >>"+filepath.Join(dir, "usr/share/vigil", name))
	}
	output(t, "sed", "-i", "s/^Version: .*/&.next/", filepath.Join(dir, "DEBIAN/control"))
	output(t, "sh", "-c", "cd "+dir+" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums")
	output(t, "dpkg-deb", "-b", "--root-owner-group", "-Znone", dir, to)
}

// In a fresh Debian the package is installed, upgraded, removed, installed again and purged; what a
// person wrote into the configuration stays, and so does the data; what runs goes on throughout. An upgrade
// asks nothing, whatever is new in the configuration that it brings: nobody may be there to answer.
func TestInstallUpgradeRemoveInAFreshDebian(t *testing.T) {
	deb := made(t, "*_amd64.deb")
	if os.Geteuid() != 0 {
		t.Skip("left out: only root can make a Debian to install into")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("left out: there is no debootstrap")
	}
	root := os.Getenv("VIGIL_DEBIAN") // one that debootstrap has made before, to save its minute
	if root == "" {
		root = t.TempDir()
		output(t, "debootstrap", "--variant=minbase", "--include=systemd", "bookworm", root)
	}
	text, err := os.ReadFile(deb)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "tmp/vigil.deb"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	next(t, deb, filepath.Join(root, "tmp/next.deb"))
	in := func(script string) string { return output(t, "chroot", root, "sh", "-ec", script) }

	in("dpkg -i /tmp/vigil.deb")
	if got := in("vigil version; id -un vigil; " +
		"stat -c '%U %a' /var/lib/vigil-server /var/lib/vigil-agentd"); !strings.Contains(
		got, "vigil\nvigil 700\nroot 711\n") || strings.Contains(got, "devel") {
		t.Errorf("installed: %s", got)
	}
	in("grep -q '^data_dir: /var/lib/vigil-server' /etc/vigil/server.yaml; " +
		"grep -q '^data_dir: /var/lib/vigil-agentd' /etc/vigil/agentd.yaml")
	got := in("stat -c '%U:%G %a' /etc/vigil/server.yaml /etc/vigil/agentd.yaml")
	if got != "root:root 644\nroot:root 644\n" {
		t.Errorf("the configurations: %s", got)
	}
	run := exec.Command("chroot", root, "vigil", "server", "--insecure", "--found", "--id", "s1",
		"--addr", "127.0.93.1:7420", "--raft-addr", "127.0.93.1:7421", "--data-dir", "/var/lib/vigil-server/trial")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = run.Process.Kill() // it may have ended
		_ = run.Wait()
	}()
	ask := func(when string) {
		t.Helper()
		cmd := exec.Command("chroot", root, "sh", "-c", "cp -n /usr/bin/vigil /tmp/client 2>/dev/null; "+
			"/tmp/client --addr 127.0.93.1:7420 status")
		for end := time.Now().Add(time.Minute); ; cmd = exec.Command(cmd.Args[0], cmd.Args[1:]...) {
			out, err := cmd.CombinedOutput()
			if err == nil {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %v\n%s", when, err, out)
			}
		}
	}
	ask("after the installation")
	pid := run.Process.Pid
	in("echo '# mine' >>/etc/vigil/server.yaml; rm /etc/vigil/agentd.yaml; cp /etc/vigil/server.yaml /tmp/before")
	in("dpkg -i /tmp/next.deb; cmp /etc/vigil/server.yaml /tmp/before")
	got = in("dpkg-query -W -f '${Status} ${Version}' vigil; " +
		"tail -n 1 /usr/share/vigil/server.yaml /etc/vigil/agentd.yaml; ls -A /etc/vigil")
	if !strings.HasPrefix(got, "install ok installed ") || strings.Count(got, ".next") != 1 ||
		strings.Count(got, "# of the next version") != 2 ||
		!strings.HasSuffix(got, "\nagentd.yaml\nrunners.d\nserver.yaml\n") {
		t.Errorf("an upgrade: %s", got)
	}
	ask("after an upgrade")
	in("dpkg -r vigil; ! test -e /usr/bin/vigil; grep -q '^# mine' /etc/vigil/server.yaml; " +
		"test -d /var/lib/vigil-server/trial")
	ask("after the removal")
	in("dpkg -i /tmp/vigil.deb; grep -q '^# mine' /etc/vigil/server.yaml")
	in("touch /etc/vigil/runners.d/mine.yaml")
	got = in("dpkg -P vigil; ls /var/lib/vigil-server; find /etc/vigil")
	if !strings.Contains(got, "is kept") || !strings.Contains(got, "trial") ||
		!strings.HasSuffix(got, "\n/etc/vigil\n/etc/vigil/runners.d\n/etc/vigil/runners.d/mine.yaml\n") {
		t.Errorf("a purge: %s", got)
	}
	ask("after a purge")
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		t.Errorf("the server that ran is gone: %v", err)
	}
}
