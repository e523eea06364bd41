//go:build linux

package disk_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"vigil/jepsen/disk"
)

// Marks of the other lives of this program.
const (
	serves   = "DISK_TEST_SERVES"
	isolated = "DISK_TEST_ISOLATED"
	does     = "DISK_TEST_DOES"
)

// TestMain runs the tests in a mount namespace of their own, where that is possible:
// nothing stays mounted, whatever happens.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(serves) != "":
		exit(disk.Serve(os.Args[1:]))
	case os.Getenv(does) != "":
		exit(children[os.Getenv(does)](os.Args[1]))
	case os.Getenv(isolated) != "" || disk.Missing() != "":
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), isolated+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState != nil && cmd.ProcessState.ExitCode() > 0 {
			os.Exit(cmd.ProcessState.ExitCode())
		}
		exit(err)
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// config is that of a disk in a folder.
func config(dir string) disk.Config {
	return disk.Config{
		Program: os.Args[0], Env: []string{serves + "=1"},
		Store: filepath.Join(dir, "store"), Mount: filepath.Join(dir, "mount"), Log: filepath.Join(dir, "log"),
	}
}

// open gives a new disk.
func open(t *testing.T) *disk.Disk {
	t.Helper()
	if why := disk.Missing(); why != "" {
		t.Skip(why)
	}
	dir := t.TempDir()
	d, err := disk.Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Errorf("%v\n%s", err, text)
		}
	})
	return d
}

// child starts this program to do one of children on a path.
func child(t *testing.T, what, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), does+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

func set(t *testing.T, d *disk.Disk, f disk.Faults) {
	t.Helper()
	if err := d.Set(f); err != nil {
		t.Fatal(err)
	}
}

// await waits until the disk says so.
func await(t *testing.T, d *disk.Disk, what string, so func(disk.Stats) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		st, err := d.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if so(st) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no %s within a minute: %+v", what, st)
		}
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
