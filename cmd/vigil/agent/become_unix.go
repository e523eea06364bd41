//go:build unix

package agent

import (
	"fmt"
	"syscall"
)

// become puts a program in the place of this one; it returns only with an error.
func become(program string, args, env []string) error {
	return fmt.Errorf("start program: %w", syscall.Exec(program, args, env))
}
