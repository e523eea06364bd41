package agent

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/client"
)

func newTaskExecCmd(a *cli.App) *cobra.Command {
	var who life.Flags
	cmd := &cobra.Command{
		Use:   "exec [flags] -- CMD [ARG]...",
		Short: "As an agent: run a program for the task that is held",
		Long: `Run CMD in the place of this program, with VIGIL_TASK and VIGIL_ATTEMPT in its environment, and
with TRACEPARENT where the task is traced: spans of CMD, and tasks that it creates, are then
part of the trace. What CMD says of a task by vigil's words is about this one, whatever the agent
holds by then, and ` + "`" + `vigil mcp` + "`" + ` serves this one only. Exit code and signals are those of CMD.
There is no shell in between, and no server is asked.`,
		Example: `  tail -n +3 task.txt | vigil task exec -- ./work.sh >result.txt`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			program, err := exec.LookPath(args[0])
			if err != nil {
				return cli.WrongUsage(fmt.Errorf("%w: name a program that can be run, after --", err))
			}
			l, err := who.Current(a)
			if err != nil {
				return err
			}
			if l.Task == 0 {
				return &client.Error{Code: "conflict",
					Message: fmt.Sprintf("%s holds no task: claim one with `vigil wait-for-task`", l.Agent)}
			}
			env := taskEnvironment(l)
			if own, err := life.OwnAgent(a); err != nil || own != l.Agent { // --agent: what else is there is another one's
				env = append(env, "VIGIL_AGENT="+l.Agent, "VIGIL_INCARNATION=", client.EnvToken+"=", client.EnvTokenFile+"=",
					client.EnvSpool+"=")
			}
			return become(program, args, override(os.Environ(), env))
		},
	}
	cmd.Flags().SetInterspersed(false)
	who.Add(cmd, a)
	return cmd
}

// override puts variables in the place of those of the same name: of two, programs read the first or the last.
func override(env, more []string) []string {
	kept := slices.DeleteFunc(slices.Clone(env), func(old string) bool {
		name, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(more, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	})
	return append(kept, more...)
}

// taskEnvironment is what a program that is run for the task of a life finds. Of an earlier trace it finds none.
func taskEnvironment(l *life.Life) []string {
	env := []string{fmt.Sprintf("%s=%d", life.EnvTask, l.Task), fmt.Sprintf("%s=%d", life.EnvAttempt, l.Attempt)}
	if client.TraceID(l.Traceparent) == "" {
		return append(env, client.EnvTrace+"=")
	}
	return append(env, client.EnvTrace+"="+l.Traceparent)
}
