package logstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A server whose snapshots cannot be read is not a new one: it has promised things.
func TestL8UnreadableSnapshotIsNoNewServer(t *testing.T) {
	for _, file := range []string{"meta.json", "state.bin"} {
		d := newDiskLog(t, 1)
		dir := d.snapshot(7, 1)
		d.opened("a snapshot and no log")
		damageFile(t, filepath.Join(dir, file))
		d.refused("no snapshot can be read: "+file, filepath.Base(dir), "cannot be read")
	}
	d := newDiskLog(t, 1, distinct(1, 9, 1)...)
	d.snapshot(3, 1)
	damageFile(t, filepath.Join(d.snapshot(7, 1), "meta.json"))
	d.opened("the newest snapshot is damaged, the log reaches past it")

	d = newDiskLog(t, 1)
	d.snapshot(3, 1)
	damageFile(t, filepath.Join(d.snapshot(7, 1), "state.bin"))
	d.refused("an older snapshot, and no log from there on", "cannot be read")

	d = newDiskLog(t, 1, distinct(1, 6, 1)...)
	d.snapshot(3, 1)
	damageFile(t, filepath.Join(d.snapshot(7, 1), "state.bin"))
	d.refused("a log that does not reach as far as the damaged snapshot did", "cannot be read")
}

func damageFile(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(data) / 3; i < len(data)/2; i++ {
		data[i] ^= 0x55
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFullDiskWhileOpeningIsAnError(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("needs /dev/full")
	}
	d := newDiskLog(t, 1)
	d.young = true
	if err := errors.Join(os.Remove(d.file), os.Symlink("/dev/full", d.file)); err != nil {
		t.Fatal(err)
	}
	r, err := d.open()
	if err == nil {
		r.Close()
	}
	if !errors.Is(err, ErrDiskFailed) || !errors.Is(err, syscall.ENOSPC) ||
		!strings.Contains(err.Error(), "free some space") {
		t.Errorf("opened a full disk: %v", err)
	}
}

// The log is mapped into memory: a page that cannot be read is a fault there, which
// ends the process without a word unless somebody looks.
func TestLogThatShrinksIsAnError(t *testing.T) {
	d := newDiskLog(t, 1, distinct(1, 300, 1)...)
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.file, 3*4096); err != nil {
		t.Fatal(err)
	}
	go r.Log.read(300) // stays there
	if err := <-r.fatal; !errors.Is(err, ErrDiskFailed) && !errors.Is(err, ErrDamaged) {
		t.Errorf("read a file that has shrunk: %v", err)
	}
}
