package life

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// exists tells whether there is such a process: os.FindProcess has opened it.
func exists(p *os.Process) bool {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(p.Pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	state, err := windows.WaitForSingleObject(h, 0)
	return err == nil && state == uint32(windows.WAIT_TIMEOUT)
}

// Detached makes a child that outlives this process and its terminal.
func Detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// ReaderGone would tell whether f is a pipe that nobody reads from any more: here the next write tells.
func ReaderGone(*os.File) bool { return false }

// onlyOurs tells whether nobody but this user may write what info is of. It is asked of a folder
// in the temporary one, which every user of Windows has for himself.
func onlyOurs(os.FileInfo) bool { return true }
