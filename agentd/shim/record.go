package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// writeRecord writes a record so that a crash leaves all of it or nothing. With sync it is on disk when that
// returns, perhaps under the name that it had before: only ExitFile is read under both (see readEnd), which saves
// a second wait for the disk before an end is told.
func writeRecord(folder, name string, record any, sync bool) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	path := filepath.Join(folder, name)
	// Not truncated before: room that was reserved for it must not be given back.
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	text = append(text, '\n')
	_, err = f.Write(text)
	if err == nil {
		err = cutTo(f, int64(len(text)))
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// cutTo cuts off what a file holds beyond size bytes.
func cutTo(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	return f.Truncate(size)
}

// reserved is the room for the record of an end: the tail of the output, every byte of it
// escaped, and the rest.
const reserved = 64 << 10

// Reserve keeps room on disk for the record of a life's end, so that a disk which is full by
// then does not lose it. It fails when there is none: nothing should be started then.
func Reserve(folder string) error {
	f, err := os.OpenFile(filepath.Join(folder, ExitFile+".new"), os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		err = errors.Join(allocate(f, reserved), f.Close())
	}
	if err != nil {
		return fmt.Errorf("reserve room for the record of its end: %w", err)
	}
	return nil
}

// readRecord reads a record. There being none is os.ErrNotExist.
func readRecord(folder, name string, record any) error {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(text, record); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(folder, name), err)
	}
	return nil
}

// End gives the record of a life's end. There being none is os.ErrNotExist. Any time is right to call it: what a
// shim that runs has not finished is none.
func End(folder string) (Exit, error) {
	// First of all: a shim that ends meanwhile has left its record under its own name.
	held, err := locked(folder)
	return readEnd(folder, err == nil && !held)
}

// Began gives the record of a life's start. There being none is os.ErrNotExist.
func Began(folder string) (started Started, err error) {
	err = readRecord(folder, StartedFile, &started)
	return started, err
}

// readEnd is End. Of a life whose shim is gone the record may have kept the name under which it was written, after
// a crash of the machine; it was put into the folder with the intent, and what is not whole is no JSON.
func readEnd(folder string, gone bool) (exit Exit, err error) {
	err = readRecord(folder, ExitFile, &exit)
	if !gone || !errors.Is(err, os.ErrNotExist) {
		return exit, err
	}
	var written Exit
	if readRecord(folder, ExitFile+".new", &written) != nil {
		return exit, err
	}
	return written, nil
}

// note is the end of what a shim had to say before it failed, on one line.
func note(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, NoteFile))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.ToValidUTF8(line[:min(len(line), 300)], "?")
}

// locked tells whether a shim of the folder runs.
func locked(folder string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(folder, LockFile), os.O_RDWR, 0)
	if err != nil {
		return false, fmt.Errorf("open lock: %w", err)
	}
	defer f.Close() // gives the lock back
	// Shared: two who try at once are not in each other's way.
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("try lock %s: %w", f.Name(), err)
	}
	return false, nil
}

// groupName names the control group of a life after its lock file, which exists
// for as long as the life does.
func groupName(folder string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(folder, LockFile), &st); err != nil {
		return "", fmt.Errorf("look at lock: %w", err)
	}
	return fmt.Sprintf("vigil-%x-%x", st.Dev, st.Ino), nil
}

// bootID is the kernel's; empty where there is none.
func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}
