//go:build unix

package agent

import (
	"os"
	"syscall"
)

// passedOn are the signals that a wrapped program gets when we get them.
var passedOn = [...]os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1,
	syscall.SIGUSR2}
