package runner

import (
	"fmt"
	"strings"
)

// variables are the placeholders that are not parameters. The token is not one of
// them: arguments are shown to everybody on the host.
func variables() []string {
	return []string{"VIGIL_ADDR", "VIGIL_ROOM", "VIGIL_ROLE", "VIGIL_AGENT", "VIGIL_INCARNATION", "VIGIL_FILES",
		resumeName}
}

// resumeName is the placeholder of the resume value.
const resumeName = "VIGIL_RESUME"

// template is one argument: literals at even places, names at odd ones.
type template []string

// parse splits an argument at its placeholders.
func parse(arg string) (template, error) {
	var t template
	literal := ""
	for {
		i := strings.Index(arg, "${")
		if i < 0 {
			return append(t, literal+arg), nil
		}
		if i > 0 && arg[i-1] == '$' {
			literal += arg[:i-1] + "${"
			arg = arg[i+2:]
			continue
		}
		name, rest, ok := strings.Cut(arg[i+2:], "}")
		if !ok {
			return nil, fmt.Errorf("placeholder %q has no end", arg[i:])
		}
		t = append(t, literal+arg[:i], name)
		literal, arg = "", rest
	}
}

// names gives the placeholders.
func (t template) names() []string {
	var names []string
	for i := 1; i < len(t); i += 2 {
		names = append(names, t[i])
	}
	return names
}

// fill puts the values in. All names are known: Compile has seen to it.
func (t template) fill(values map[string]string) string {
	var b strings.Builder
	for i, part := range t {
		if i%2 == 1 {
			part = values[part]
		}
		b.WriteString(part)
	}
	return b.String()
}
