package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Incident I59: who comes second is told the number of the holder, never that of a
// dead one which the holder has not overwritten yet.
func TestHolderThatHasJustLockedIsNamed(t *testing.T) {
	lock, err := os.Create(filepath.Join(t.TempDir(), lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip(err)
	}
	if _, err := lock.WriteString(fmt.Sprintln(gone.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if named := holder(lock); named != "" {
		t.Errorf("the dead holder is named:%s", named)
	}
	if err := lock.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.WriteAt([]byte(fmt.Sprintln(os.Getpid())), 0); err != nil {
		t.Fatal(err)
	}
	if named := holder(lock); named != fmt.Sprintf(" (pid %d)", os.Getpid()) {
		t.Errorf("named:%s", named)
	}
}

// A daemon that was killed while it started a program leaves the lock to a child for a moment:
// the next one waits for that, and for nobody who lives.
func TestLockOfADeadDaemonIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	d, err := Open(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	// nobody has this number now
	if _, err := d.lock.WriteAt([]byte(strconv.Itoa(gone.Process.Pid)+"\n"), 0); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		next, err := Open(dir, "")
		if err == nil {
			next.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	d.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// The number of the host is kept for the boot under which it was registered, and one that cannot be read is
// none.
func TestNumberOfTheHostIsKeptForItsBoot(t *testing.T) {
	dir := &Dir{Path: t.TempDir()}
	if err := dir.Note(7, "boot"); err != nil {
		t.Fatal(err)
	}
	if n := (&Dir{Path: dir.Path}).Registered("boot"); n != 7 {
		t.Errorf("number %d was read, 7 was kept", n)
	}
	if n := dir.Registered("another boot"); n != 0 {
		t.Errorf("number %d was kept for another boot", n)
	}
	if err := os.WriteFile(filepath.Join(dir.Path, hostFile), []byte("{torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := dir.Registered("another boot"); n != 0 {
		t.Errorf("number %d was read from a torn file", n)
	}
	if err := dir.Note(9, "another boot"); err != nil || (&Dir{Path: dir.Path}).Registered("another boot") != 9 {
		t.Errorf("the number was not kept: %v", err)
	}
}

// A new directory takes over the name of a host whose own is lost; one that has a name keeps it.
func TestHostKeyTakesOverACopy(t *testing.T) {
	lost, err := HostKey(filepath.Join(t.TempDir(), "lost"), "")
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "key.copy")
	if err := os.WriteFile(kept, []byte(lost+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := HostKey(filepath.Join(t.TempDir(), "new"), kept); err != nil || key != lost {
		t.Errorf("a new directory has the key %q (%v), want %q", key, err, lost)
	}
	other := filepath.Join(t.TempDir(), "other")
	if _, err := HostKey(other, ""); err != nil {
		t.Fatal(err)
	}
	if key, err := HostKey(other, kept); err == nil {
		t.Errorf("a directory of another host took over a key: %q", key)
	}
}

// What tokens of telemetry are made with is no name of the host, stays, is for nobody else to read, and is made
// anew where it is damaged.
func TestTheKeyOfTelemetryIsADirectorysOwn(t *testing.T) {
	dir := t.TempDir()
	open := func() (key string) {
		t.Helper()
		d, err := Open(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if d.TelemetryKey == "" || d.TelemetryKey == d.Key {
			t.Errorf("the key of telemetry is %q, that of the host %q", d.TelemetryKey, d.Key)
		}
		return d.TelemetryKey
	}
	first := open()
	file := filepath.Join(dir, telemetryKeyFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 || open() != first {
		t.Errorf("file %v (%v), or another key", info, err)
	}
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := open(); again == first || open() != again {
		t.Error("a damaged key is not made anew, or not once")
	}
}
