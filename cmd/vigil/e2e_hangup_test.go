//go:build linux

package main_test

import (
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
