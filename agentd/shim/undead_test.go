//go:build linux

package shim

import (
	"strings"
	"testing"
	"time"
)

// A shim that SIGKILL does not end (it waits for a disk) is reported, once, and its
// life is not called over while it is there.
func TestUnkillableShimIsStuckAndKeepsItsSlot(t *testing.T) {
	r := newRig(t)
	lock := r.lock() // as that shim holds it
	s := newShim(r.folder, Started{Mark: markOf(r.folder)}, nil)
	s.deaf = time.Millisecond
	s.Stop(time.Hour, "drained")
	s.Stop(time.Millisecond, "superseded")
	s.Stop(0, "superseded again")
	words, over := make(chan string, 10), make(chan Exit, 1)
	go func() { over <- s.Wait(func(word string) { words <- word }) }()
	select {
	case word := <-words:
		if !strings.Contains(word, "cannot be killed") {
			t.Error(word)
		}
	case <-over:
		t.Fatal("its end was told while it is there")
	case <-time.After(patience):
		t.Fatal("nothing was said")
	}
	lock.Close()
	select {
	case exit := <-over:
		if !exit.Vanished || !exit.Ordered || len(words) != 0 {
			t.Errorf("exit %+v, %d more words", exit, len(words))
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}
