//go:build linux

package main_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

// N12: with one of three servers up, status says at once for which servers it waits.
func TestN12StatusSaysForWhomItWaits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	f := newFleet(t)
	c, err := client.Open(client.Config{Addrs: f.api[:1], Name: "test"}) // the one that will be asked
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for known := 0; known < 3; { // each says where its API is
		st, err := vigilv1.NewClusterClient(c).Status(f.ctx(), &vigilv1.StatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		known = 0
		for _, s := range st.GetServers() {
			if s.GetApiAddr() != "" {
				known++
			}
		}
	}
	for _, s := range f.servers[1:] {
		s.signal(syscall.SIGKILL)
	}
	out := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		b, _ := exec.CommandContext(t.Context(), vigil(t), "status", "--addr", f.api[0], // it may find no leader yet
			"--timeout", "5s").CombinedOutput()
		if out = string(b); strings.Contains(out, "waits for") {
			break
		}
	}
	for _, want := range []string{"none: 2 of the 3 servers with a vote must be up, and 1 is heard here: waits for s2 (" +
		f.api[1] + "), not heard for ", ", and s3 (" + f.api[2] + "), not heard for "} {
		if !strings.Contains(out, want) {
			t.Errorf("status lacks %q:\n%s", want, out)
		}
	}
}
