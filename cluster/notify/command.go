package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// endGrace is how long a killed program's pipes are waited for.
const endGrace = time.Second

// Command starts a program for each notice, with the notice as JSON on its standard input
// and its id in VIGIL_NOTICE_ID. No shell is involved, its output goes nowhere. Safe for
// concurrent use.
type Command struct {
	program string // absolute
	args    []string
}

// NewCommand makes one; the caller has checked the program.
func NewCommand(program string, args []string) *Command {
	return &Command{program, append([]string(nil), args...)}
}

// Send starts the program and waits for its end; code 0 says that the notice has been
// taken. When ctx ends first, the program and what it has started are killed.
func (c *Command) Send(ctx context.Context, id string, body []byte) error {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.Stdin = bytes.NewReader(body)
	cmd.Dir = "/"
	cmd.Env = append(passed(), "VIGIL_NOTICE_ID="+id)
	cmd.WaitDelay = endGrace
	alone(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("it has not ended in time")
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return fmt.Errorf("exit code %d", exit.ExitCode())
	case errors.As(err, &exit):
		return errors.New("it was killed")
	case errors.Is(err, exec.ErrWaitDelay):
		return errors.New("something that it started holds its pipes")
	}
	return errors.New("it cannot be started")
}

// passed is what of this program's environment the command gets.
func passed() (env []string) {
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}
