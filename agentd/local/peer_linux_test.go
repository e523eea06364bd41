package local

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// dialAs connects as another account, and reads what comes.
func dialAs(uid int, path string) error {
	ended := make(chan error, 1)
	go func() {
		// Never unlocked: the thread, whose account has changed, ends with this goroutine.
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
			ended <- errno
			return
		}
		conn, err := net.Dial("unix", path)
		if err != nil {
			ended <- err
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("G")) // it may be closed by now
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		_, err = conn.Read(make([]byte, 1))
		ended <- err
	}()
	return <-ended
}

// The socket is for the account of the life and for root: by its rights, and by whoever connects.
func TestOtherAccountsAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	folder, err := os.MkdirTemp("", "vl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	const owner, other = 12345, 12346
	reached := make(chan struct{}, 10)
	d, err := OpenDoor(DoorConfig{Folder: folder, Name: "api", Owner: owner, Reach: func() (net.Conn, error) {
		reached <- struct{}{}
		return nil, errors.New("away")
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := dialAs(other, d.Path()); !errors.Is(err, syscall.EACCES) {
		t.Errorf("another account, by the rights of the socket: %v", err)
	}
	if err := os.Chmod(d.Path(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := dialAs(other, d.Path()); err == nil || os.IsTimeout(err) {
		t.Errorf("another account, by who it is: %v", err)
	}
	if n := len(reached); n != 0 {
		t.Errorf("another account got %d times to agentd", n)
	}
	if conn, err := net.Dial("unix", d.Path()); err != nil {
		t.Error(err)
	} else {
		conn.Write([]byte("G"))
		<-reached
		conn.Close()
	}
	go func() { _ = dialAs(owner, d.Path()) }()
	<-reached
}
