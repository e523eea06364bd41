package agent

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/life"
	"vigil/rpc/gen/vigilv1"
)

// MaxResume is what the cluster takes as a resume value.
const MaxResume = 4 << 10

// newRememberCmd is `vigil remember`: an agent registers its resume value.
func newRememberCmd(a *cli.App) *cobra.Command {
	var who life.Flags
	var field string
	cmd := &cobra.Command{
		Use:   "remember VALUE",
		Short: "As an agent: keep a value for the next life",
		Long: `Keep a value, usually the id of a conversation, for the next life of this agent: it
gets it as VIGIL_RESUME, and as ${VIGIL_RESUME} in the arguments of its runner. Later
values replace earlier ones, an empty one forgets it; - reads it from standard input.
People forget it with vigil agent start --fresh, or vigil agent restart --fresh. With
--field standard input is a JSON object, as hooks of AI tools get it, and the value is
one of its fields.`,
		Example: `  vigil remember 0198c6de-9d5f-7c5c-a54e-7b0e5b0d8f11
  vigil remember --best-effort --field session_id -
  vigil remember ""`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := who.Current(a)
			if err != nil {
				return err
			}
			if a.Effort && life.Nested(a, l, true) {
				return nil // another tool's conversation
			}
			value, err := valueToRemember(a, args[0], field)
			if err != nil {
				return err
			}
			if len(value) > MaxResume {
				return cli.Usagef("the value has %d bytes, %d are allowed: "+
					"put it into a file and remember the file's name", len(value), MaxResume)
			}
			return a.Ask(cmd, func(ctx context.Context, c *cli.Conn) error {
				if _, err := c.Work.SetResume(ctx, &vigilv1.SetResumeRequest{Speaker: l.Speaker(),
					Resume: value}); err != nil {
					return err
				}
				line := "the next life of %s gets this value"
				if value == "" {
					line = "the next life of %s begins without a value"
				}
				return a.Done(map[string]any{"agent": l.Agent, "resume_bytes": len(value)}, line, l.Agent)
			})
		},
	}
	who.Add(cmd, a)
	a.BestEffort(cmd)
	cmd.Flags().StringVar(&field, "field", "", "with -: standard input is a JSON object, the value is this field of it")
	return cmd
}

// maxHookInput is how much of what a hook gets is read.
const maxHookInput = 16 << 20

// valueToRemember gives the value itself, or reads it from standard input.
func valueToRemember(a *cli.App, arg, field string) (string, error) {
	switch {
	case arg != "-" && field != "":
		return "", cli.Usagef("flag --field: the value is %q; write - for the field of what comes on standard input", arg)
	case arg != "-":
		return arg, nil
	case field != "":
		var object map[string]any
		if err := json.NewDecoder(io.LimitReader(a.In, maxHookInput)).Decode(&object); err != nil {
			return "", cli.Usagef("read the value from standard input: %w; --field wants a JSON object", err)
		}
		value, ok := object[field].(string)
		if !ok || value == "" {
			return "", cli.Usagef("read the value from standard input: the object has no text in the field %q", field)
		}
		return value, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.In, MaxResume+2))
	if err != nil {
		return "", cli.Usagef("read the value from standard input: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
