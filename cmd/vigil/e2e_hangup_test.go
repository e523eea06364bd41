//go:build linux

package main_test

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A hangup ends no daemon: agentd reads its runners again and `host show` tells the new names, a
// server takes its notifiers and says what needs a restart.
func TestN10HangupEndsNoDaemon(t *testing.T) {
	t.Parallel()
	f := &testFleet{t: t, dir: t.TempDir(), api: []string{freePort(t)}, raft: []string{freePort(t)}}
	f.config = f.path("server.yaml")
	f.write("server.yaml", "debug: false\n")
	server := f.startServer(0)
	f.write("h/agentd.yaml", "servers: ["+f.api[0]+"]\ninsecure: true\nname: h\ndata_dir: "+f.path("h/data")+"\n")
	f.write("h/runners.d/a.yaml", owned("name: a\nprogram: sh\n"))
	agentd := spawn(t, "h", "agentd", "--config", f.path("h/agentd.yaml"))
	agentd.shows(regexp.MustCompile(`host registered`))

	f.write("h/runners.d/a.yaml", "name: a\nprogramm: sh\n")
	f.write("h/agentd.yaml", "servers: ["+f.api[0]+"]\ninsecure: true\nname: h\n"+
		"capacity: 3\nlabels: {zone: b}\ndata_dir: "+f.path("h/data")+"\n")
	f.write("h/runners.d/b.yaml", owned("name: b\nprogram: sh\n"))
	agentd.signal(syscall.SIGHUP)
	agentd.shows(regexp.MustCompile(`runner a stays as it was: \S+a\.yaml:2:1: unknown key`))
	agentd.shows(regexp.MustCompile(`read again.*added=\[?"?b`))
	agentd.shows(regexp.MustCompile(`(?s)read again.*host registered`))
	show := spawn(t, "show", "host", "show", "h", "--addr", f.api[0])
	if code := show.end(); code != 0 || !regexp.MustCompile(`runners\W+a, b\b`).MatchString(show.out.String()) ||
		!strings.Contains(show.out.String(), "runner a stays as it was") ||
		!regexp.MustCompile(`zone[=:] ?b`).MatchString(show.out.String()) ||
		!regexp.MustCompile(`(of|capacity)\W+3\b`).MatchString(show.out.String()) {
		t.Errorf("exit code %d:\n%s", code, show.out.String())
	}
	f.write("server.yaml", "zone: b\nnotify:\n- name: hook\n  command: {program: /bin/true}\n")
	server.signal(syscall.SIGHUP)
	server.shows(regexp.MustCompile(`log level and notifiers were read again: .*notifiers_added=\[?"?hook`))
	server.shows(regexp.MustCompile(`zone: needs a restart`))
	f.write("server.yaml", "zonne: b\n")
	server.signal(syscall.SIGHUP)
	server.shows(regexp.MustCompile(`stays as it was.*zonne`))
	for _, p := range []*proc{agentd, server} {
		p.signal(syscall.SIGTERM)
		if code := p.end(); code != 0 {
			t.Errorf("%s: exit code %d", p.name, code)
		}
	}
}

// A server whose pager lacks its secret starts, says so in its log and its status, and takes it as soon as it is there.
// What cannot be used is no new configuration.
func TestAServerStartsWithoutTheSecretOfItsPager(t *testing.T) {
	t.Parallel()
	f := &testFleet{t: t, dir: t.TempDir(), api: []string{freePort(t)}, raft: []string{freePort(t)}}
	f.config = f.path("server.yaml")
	pager := func(name string) string {
		return "- {name: " + name + ", webhook: {url: https://pager.example/, secret_file: " + f.path(name) + "}}\n"
	}
	f.write("server.yaml", "backup: {to: "+f.path("")+", recipients_file: "+f.path("keys")+"}\nnotify:\n"+pager("hook"))
	server := f.startServer(0)
	server.shows(regexp.MustCompile(`\[ERROR\].*Escalations are not announced by server s1: \S+:3:.*"hook".*secret_file`))
	server.shows(regexp.MustCompile(`\[ERROR\].*no backups are made before this is mended.*recipients_file`))
	f.write("server.yaml", "notify:\n"+pager("hook")+pager("more"))
	server.signal(syscall.SIGHUP)
	server.shows(regexp.MustCompile(`stays as it was.*more.*secret_file`))
	said := func() string {
		p := spawn(t, "status", "status", "--addr", f.api[0])
		if code := p.end(); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, p.out.String())
		}
		return p.out.String()
	}
	if got := said(); !strings.Contains(got, "warning: Escalations are not announced by server s1: ") ||
		strings.Contains(got, `"more"`) {
		t.Errorf("the status says\n%s", got)
	}
	backups := `Backups fail on server s1: \S+ recipients_file: .*no such file`
	f.until("the status warns of backups", func() (bool, string) {
		got := said()
		return regexp.MustCompile("warning: " + backups).MatchString(got), got
	})
	doctor := spawn(t, "doctor", "doctor", "--addr", f.api[0])
	if code := doctor.end(); code != 1 || !regexp.MustCompile("MEND  cluster: "+backups).MatchString(doctor.out.String()) {
		t.Errorf("doctor: exit code %d:\n%s", code, doctor.out.String())
	}
	f.write("hook", strings.Repeat("x", 32))
	if err := os.Chmod(f.path("hook"), 0o600); err != nil {
		t.Fatal(err)
	}
	server.signal(syscall.SIGHUP)
	server.shows(regexp.MustCompile(`works now: what="notifier hook"`))
	if got := said(); strings.Contains(got, "not announced by") {
		t.Errorf("the status still says\n%s", got)
	}
	server.signal(syscall.SIGTERM)
	if code := server.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
