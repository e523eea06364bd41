package tmux

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// S8: whatever an agent writes into the fifos of its terminal, which are its own, this process
// reads it in pieces and keeps none of it; the end of the program is seen afterwards.
func TestS08FloodOfTheStatusIsNotKept(t *testing.T) {
	const megabytes = 64
	r := newRig(t, "/bin/sh", "-c", `head -c `+"67108864"+
		` /dev/zero | tr '\0' x >tmux/status; echo >tmux/status; exit 3`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	exit := r.run()
	runtime.ReadMemStats(&after)
	if exit.Code != 3 {
		t.Errorf("exit %+v, want code 3", exit)
	}
	if grown := int64(after.TotalAlloc-before.TotalAlloc) >> 20; grown > megabytes/4 {
		t.Errorf("%d MiB were taken for %d MiB of status", grown, megabytes)
	}
}

// S8: a screen without an end, from a server that is the agent's too, is an error and not kept.
func TestS08EndlessScreenIsRefused(t *testing.T) {
	r := newRig(t, "/bin/true")
	fake := filepath.Join(r.config.Folder, "endless")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\nexec yes x\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.config.Tmux = fake
	s := &Session{config: r.config, place: placeIn(r.config.Folder)}
	if err := os.Mkdir(string(s.place), 0o700); err != nil {
		t.Fatal(err)
	}
	shown, err := s.Capture(10)
	if err == nil || !strings.Contains(err.Error(), "prints more than") || shown != "" {
		t.Errorf("%d bytes, %v", len(shown), err)
	}
}
