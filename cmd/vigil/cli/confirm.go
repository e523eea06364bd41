package cli

import (
	"bufio"
	"fmt"
	"strings"

	"vigil/cmd/vigil/term"
	"vigil/rpc/client"
)

// Confirm asks on standard error and goes on only when the answer is want.
func (a *App) Confirm(question, want string) error {
	if _, err := fmt.Fprint(a.Err, term.Safe(question)); err != nil {
		return err
	}
	line, err := bufio.NewReader(a.In).ReadString('\n')
	if err != nil && line == "" {
		return fmt.Errorf("read the answer: %w", err)
	}
	if got := strings.TrimSpace(line); got != want {
		return Usagef("%q is not %q: nothing was changed", term.OneLine(got), want)
	}
	return nil
}

// PlanShown is how many single things of a plan, and refusals of what was done, are shown to people.
const PlanShown = 5

// ConfirmPlan prints a plan and tells whether the harm in it is wanted: by --yes, or by an answer
// on a terminal. harm goes on after "this"; without harm nobody is asked, and servers see to it
// that there is none. It is an error when harm is not wanted.
func (a *App) ConfirmPlan(plan, harm string, yes bool) (sure bool, err error) {
	if !a.JSON {
		if err := a.Printf("%s", plan); err != nil {
			return false, err
		}
	}
	switch {
	case yes:
		return true, nil
	case harm == "":
		return false, nil
	case !a.Attended:
		return false, &client.Error{Code: "conflict",
			Message: fmt.Sprintf("this %s, and there is no terminal to ask on: nothing was changed; "+
				"allow it with --yes, look with --dry-run", harm)}
	}
	fmt.Fprintf(a.Err, "This %s. Go on? [y/N] ", harm)
	answer, _ := bufio.NewReader(a.In).ReadString('\n') // the end of the input is no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, ExitWith(ExitFailed, fmt.Errorf("nothing was changed"))
}
