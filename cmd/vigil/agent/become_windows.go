package agent

import (
	"os"
	"os/exec"
)

// become runs a program and ends as it ends.
func become(program string, args, env []string) error {
	cmd := &exec.Cmd{Path: program, Args: args, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return exitOf(cmd.Run())
}
