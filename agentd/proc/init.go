package proc

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// envInit tells the program that RunAsInit has started it.
const envInit = "VIGIL_INIT"

// RunAsInit is for a program that a container runs as its first process, which inherits whatever has
// lost its parent: shims, and what agents leave behind. It starts the program again with args (its
// own name first) as a process of its own, hands it the signals that people and runtimes send, waits for all that
// end until the program does, and gives its exit code. Without that dead processes would pile up: only the first
// process may wait for them.
func RunAsInit(program string, args []string) (code int, err error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGWINCH)
	defer signal.Stop(signals)
	child, err := os.StartProcess(program, args, &os.ProcAttr{Env: append(os.Environ(), envInit+"=1"),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, fmt.Errorf("start %s again: %w", program, err)
	}
	go func() {
		for s := range signals {
			_ = unix.Kill(child.Pid, s.(syscall.Signal)) // it may have just ended
		}
	}()
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for processes: %w", err)
		case pid == child.Pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == child.Pid && status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// inits are the names of first processes of containers that end with the program that they run, as RunAsInit does.
var inits = []string{"tini", "tini-static", "docker-init", "podman-init", "catatonit", "dumb-init"}

// EndsContainer tells whether all other processes of this container are killed when this one ends: its first process
// has started it, and ends then. It takes the word of RunAsInit out of the environment, so that nobody inherits it:
// call it once, early.
func EndsContainer() bool {
	_, told := os.LookupEnv(envInit)
	_ = os.Unsetenv(envInit) // the name is sound
	name, _ := os.ReadFile("/proc/1/comm")
	return os.Getppid() == 1 && (told || slices.Contains(inits, strings.TrimSpace(string(name))))
}
