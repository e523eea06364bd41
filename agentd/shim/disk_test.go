//go:build linux

package shim

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hang puts a fifo in the place of a file that a shim writes. While nobody reads it is
// like a file on a disk that hangs.
func hang(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// L7: a log that cannot be written holds up neither the start nor the freeze.
func TestL7FreezesThoughItsLogHangs(t *testing.T) {
	onEveryHost(t, func(t *testing.T, r *rig) {
		log := filepath.Join(r.folder, "logs", "demo", "builder.log")
		hang(t, log)
		fd, err := unix.Open(log, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		pipe := os.NewFile(uintptr(fd), log)
		for err == nil { // to the last byte
			_, err = unix.Write(fd, make([]byte, 4096))
		}
		for err = nil; err == nil; {
			_, err = unix.Write(fd, []byte{0})
		}
		if !errors.Is(err, unix.EAGAIN) {
			t.Fatal(err)
		}
		s, a, _ := r.start(r.spec("deaf"))
		a.ask("print waits for the disk")
		r.advance(50 * time.Minute)
		until(t, "word of the freeze", s.Frozen)
		until(t, "freeze", func() bool { return frozen(s, a.pid) })
		s.Acknowledge(r.now())
		a.ask("print goes on")
		s.Stop(0, "superseded")
		a.ended()
		go func() { drain(pipe) }() // the disk is back
		if exit := wait(t, s); !exit.Ordered || exit.Reason != "superseded" {
			t.Errorf("exit %+v", exit)
		}
		pipe.Close()
	})
}

// L7: the switch is judged though the record of the start cannot be written.
func TestL7FreezesThoughItsRecordHangs(t *testing.T) {
	r := newRig(t)
	r.bare = true
	record := filepath.Join(r.folder, StartedFile+".new")
	hang(t, record)
	type answer struct {
		s   *Shim
		err error
	}
	answers := make(chan answer, 1)
	lock := r.lock()
	go func() {
		s, err := r.launcher().Start(r.spec("deaf"), lock)
		answers <- answer{s, err}
	}()
	a, _ := r.up(0)
	r.advance(50 * time.Minute)
	until(t, "freeze", func() bool { return frozen(&Shim{}, a.pid) })
	reader, err := os.OpenFile(record, os.O_RDWR, 0) // the disk is back
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	got := <-answers
	if got.err != nil {
		t.Fatal(got.err)
	}
	defer got.s.Close()
	got.s.Stop(0, "superseded")
	if exit := wait(t, got.s); !exit.Ordered || exit.Signal != "killed" {
		t.Errorf("exit %+v", exit)
	}
}

// A record that cannot be written ends the life: no later daemon would find it.
func TestStartWithoutARecordEnds(t *testing.T) {
	r := newRig(t)
	if err := os.MkdirAll(filepath.Join(r.folder, StartedFile+".new"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := r.launcher().Start(r.spec("deaf"), r.lock())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if exit := wait(t, s); exit.Signal != "killed" || !strings.Contains(exit.Reason, StartedFile) {
		t.Errorf("exit %+v", exit)
	}
}

// L7: F is looked at once more directly before the fork: what comes before it may
// take long.
func TestL7NothingIsStartedTooLate(t *testing.T) {
	kinds := []string{"exec"}
	if _, err := os.Stat("/usr/bin/tmux"); err == nil {
		kinds = append(kinds, "tmux")
	}
	for _, kind := range kinds {
		r := newRig(t)
		spec := r.spec("polite")
		spec.Kind = kind
		_, err := launcher(r.clock, "late").Start(spec, r.lock())
		if err == nil || !strings.Contains(err.Error(), errLate.Error()) {
			t.Errorf("%s: %v", kind, err)
		}
		var exit Exit
		if err := readRecord(r.folder, ExitFile, &exit); err != nil || !exit.NotStarted || !exit.Ordered {
			t.Errorf("%s: record %+v, %v", kind, exit, err)
		}
	}
}

// Notes never wait, and their end waits for a while only.
func TestL7NotesDoNotWait(t *testing.T) {
	release, wrote := make(chan struct{}), make(chan string, 2*maxNotes)
	n := takeNotes(func(word string) { <-release; wrote <- word })
	for range 2 * maxNotes {
		n.Note("word")
	}
	n.close()
	if len(wrote) != 0 {
		t.Errorf("%d words were written", len(wrote))
	}
	close(release)
	<-n.written
	if len(wrote) < maxNotes || len(wrote) > maxNotes+1 {
		t.Errorf("%d words were written", len(wrote))
	}
}

// A disk that has filled up since the start does not lose the record of the end: its room was
// reserved, for a tail of which every byte is escaped too.
func TestA07FullDiskKeepsTheRecord(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("vigil-test", folder, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("a file system of its own needs root: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := Reserve(folder); err != nil {
		t.Fatal(err)
	}
	rest, err := os.Create(filepath.Join(folder, "rest"))
	for err == nil {
		_, err = rest.Write(make([]byte, 4096))
	}
	rest.Close()
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	want := Exit{Code: 3, Tail: strings.Repeat("\x01", maxTail)}
	if err := writeRecord(folder, ExitFile, want, true); err != nil {
		t.Fatal(err)
	}
	var got Exit
	if err := readRecord(folder, ExitFile, &got); err != nil || got != want {
		t.Errorf("%v, %+v", err, got)
	}
	if err := Reserve(folder); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("without room: %v", err)
	}
}

// L8: a power failure may take the record of an end back to the name under which it was written, and what was not
// written whole is none. While the lock is held nobody takes what is being written for an end.
func TestL8TheRecordOfAnEndOutlivesItsName(t *testing.T) {
	r := newRig(t)
	file := filepath.Join(r.folder, ExitFile)
	if err := Reserve(r.folder); err != nil {
		t.Fatal(err)
	}
	reserved, err := os.ReadFile(file + ".new")
	if err != nil || len(reserved) == 0 {
		t.Fatalf("%d bytes, %v", len(reserved), err)
	}
	want := Exit{Code: 3, Tail: "the last words"}
	if err := writeRecord(r.folder, ExitFile, want, true); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		text []byte
		held bool
		want error
	}{
		"whole":                {text: whole},
		"while it is written":  {text: whole, held: true, want: os.ErrNotExist},
		"nothing":              {text: reserved, want: os.ErrNotExist},
		"half":                 {text: whole[:len(whole)/2], want: os.ErrNotExist},
		"not cut off":          {text: append(slices.Clone(whole), reserved[len(whole):]...), want: os.ErrNotExist},
		"a page that is empty": {text: append([]byte("\x00\x00\x00"), whole[3:]...), want: os.ErrNotExist},
	} {
		if err := os.WriteFile(file+".new", c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		lock := r.lock()
		if !c.held {
			lock.Close()
		}
		if got, err := End(r.folder); !errors.Is(err, c.want) || err == nil && got != want {
			t.Errorf("%s: %+v, %v; want %v", what, got, err, c.want)
		}
		lock.Close()
		exit := Bury(r.folder, r.spec("polite").Mark, func(string) {})
		if gone := c.want != nil && !c.held; exit.Vanished != gone {
			t.Errorf("%s: buried as %+v", what, exit)
		}
	}
}

// An end that cannot be recorded at all is told to the daemon, and is not called the death of
// the shim, which would be charged.
func TestA07EndThatCannotBeRecordedIsTold(t *testing.T) {
	r := newRig(t)
	r.bare = true
	if err := os.Mkdir(filepath.Join(r.folder, ExitFile+".new"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, a, _ := r.start(r.spec("deaf"))
	a.ask("print the last words")
	s.Stop(0, "stopped by order")
	a.ended()
	if exit := wait(t, s); exit.Vanished || !exit.Ordered || exit.Reason != "stopped by order" ||
		!strings.Contains(exit.Tail, "the last words") {
		t.Errorf("exit %+v", exit)
	}
}
