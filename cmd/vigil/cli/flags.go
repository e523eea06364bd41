package cli

import (
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Tune makes every flag for a duration, of a command and all beneath it, take days, and has
// mistakes in flags told in our words. It is called once the tree is whole.
func Tune(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	each(root, func(cmd *cobra.Command) {
		for _, flags := range [...]*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			flags.VisitAll(func(f *pflag.Flag) {
				if _, done := f.Value.(spanFlag); !done && f.Value.Type() == "duration" {
					f.Value = spanFlag{f.Value}
				}
			})
		}
	})
}

func each(cmd *cobra.Command, fn func(*cobra.Command)) {
	fn(cmd)
	for _, below := range cmd.Commands() {
		each(below, fn)
	}
}

// flagError says what is wrong with a flag, and which one was perhaps meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var alone *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		err = errors.New(unknownFlag(cmd, unknown))
	case errors.As(err, &invalid):
		err = fmt.Errorf("flag --%s: %s", invalid.GetFlag().Name, wrongValue(invalid))
	case errors.As(err, &alone):
		err = fmt.Errorf("flag --%s needs a value: %s", alone.GetFlag().Name, alone.GetFlag().Usage)
	}
	return fmt.Errorf("%w: see %s --help", err, cmd.CommandPath())
}

// wrongValue says what a flag takes instead of what it got, without the words of Go's parsers.
func wrongValue(e *pflag.InvalidValueError) string {
	want := ""
	n, whole := new(big.Int).SetString(e.GetValue(), 10)
	switch kind := e.GetFlag().Value.Type(); {
	case whole && strings.HasPrefix(kind, "uint") && n.Sign() < 0:
		return fmt.Sprintf("%q is negative: give a whole number from 0", e.GetValue())
	case whole && (strings.HasPrefix(kind, "uint") || strings.HasPrefix(kind, "int")):
		return fmt.Sprintf("%q has too many digits", e.GetValue())
	case strings.HasPrefix(kind, "uint"):
		want = "a whole number from 0"
	case strings.HasPrefix(kind, "int"), kind == "count":
		want = "a whole number"
	case strings.HasPrefix(kind, "float"):
		want = "a number"
	case kind == "bool":
		want = "true or false"
	default:
		return e.Unwrap().Error()
	}
	return fmt.Sprintf("%q is not %s", e.GetValue(), want)
}

// unknownFlag names the flags that somebody may have meant.
func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) string {
	short := e.GetSpecifiedShortnames()
	if short == "" {
		name := strings.TrimLeft(e.GetSpecifiedName(), "-")
		return fmt.Sprintf("there is no flag --%s%s", name, perhaps(nearFlags(cmd, name)))
	}
	name := e.GetSpecifiedName()
	var meant []string
	if name == "f" || name == "c" { // the file is --file in one command and --config in another
		for _, other := range [...]string{"file", "config"} {
			if f := cmd.Flag(other); f != nil && f.Shorthand != "" {
				meant = append(meant, "-"+f.Shorthand+", --"+other)
			} else if f != nil {
				meant = append(meant, "--"+other)
			}
		}
	}
	return fmt.Sprintf("there is no flag -%s%s", name, perhaps(meant))
}

// nearFlags finds flags with a similar name. The library compares names of commands; flags take
// their part here.
func nearFlags(cmd *cobra.Command, name string) (near []string) {
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	cmd.Flags().VisitAll(add) // with those of the commands above, once the line was read
	for _, one := range names.SuggestionsFor(name) {
		if one != name && len(near) < 3 {
			near = append(near, "--"+one)
		}
	}
	return near
}

// perhaps is the part of a sentence that names what may be meant; "" for nothing.
func perhaps(near []string) string {
	if len(near) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(near, " or ") + "?)"
}
