//go:build linux

package stand

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// Missing tells what this machine lacks for a stand; empty: nothing.
func Missing() string {
	var list []string
	if os.Geteuid() != 0 {
		list = append(list, "root (it makes namespaces)")
	}
	for _, tool := range [][2]string{{"ip", "iproute2"}, {"nft", "nftables"}} {
		if _, err := tool2path(tool[0]); err != nil {
			list = append(list, fmt.Sprintf("%s (package %s)", tool[0], tool[1]))
		}
	}
	if len(list) == 0 {
		err := try()
		if err == nil {
			return ""
		}
		list = append(list, fmt.Sprintf("permission to make namespaces (%v)", err))
	}
	return "a stand of namespaces needs " + strings.Join(list, " and ")
}

// try makes the namespaces of a machine once.
func try() error {
	ip, err := tool2path("ip")
	if err != nil {
		return err
	}
	cmd := exec.Command(ip, "link", "add", bridge, "type", "bridge")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: machineSpaces}
	return cmd.Run()
}

// tool2path finds a tool also where only root looks for it.
func tool2path(name string) (string, error) {
	for _, dir := range []string{"/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/"} {
		if info, err := os.Stat(dir + name); err == nil && info.Mode().IsRegular() {
			return dir + name, nil
		}
	}
	return exec.LookPath(name)
}

// isolated marks a process that Isolate has started.
const isolated = "VIGIL_STAND_ISOLATED"

// Isolated tells whether this process is in a network namespace of its own.
func Isolated() bool { return os.Getenv(isolated) != "" }

// Inside runs a program's main, or the tests of a package, in a network namespace of
// its own and gives the exit code. skip says why no stand can be used or is wanted;
// then nothing is isolated, and run tells people so.
//
//	func TestMain(m *testing.M) {
//		flag.Parse()
//		os.Exit(stand.Inside(skipped(), m.Run))
//	}
func Inside(skip string, run func() int) int {
	if skip != "" || Isolated() {
		return run()
	}
	code, err := Isolate()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Isolate runs this program once more, with the same arguments, in a network
// namespace of its own, and gives its exit code. The copy dies with this process.
// Call it first thing in main, when Isolated is false.
func Isolate() (int, error) {
	// The death signal follows the thread that forks.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), isolated+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// What it mounts for its machines is gone with it, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET,
		Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode(), nil
	case err != nil:
		return 0, fmt.Errorf("run in a network namespace: %w", err)
	}
	return 0, nil
}
