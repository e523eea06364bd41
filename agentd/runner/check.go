package runner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// checkArgs parses a list of arguments; key is its name in the file.
func (c *checker) checkArgs(key string, args []string) []template {
	var list []template
	for i, arg := range args {
		if strings.ContainsRune(arg, 0) {
			c.fault("the argument holds a zero byte", "remove it", key, i)
		}
		t, err := parse(arg)
		if err != nil {
			c.fault(err.Error(), "close it with }, or write $${ for a literal ${", key, i)
			continue
		}
		list = append(list, t)
		for _, name := range t.names() {
			c.checkPlaceholder(key, i, name)
		}
	}
	return list
}

func (c *checker) checkPlaceholder(key string, i int, name string) {
	param, isParam := strings.CutPrefix(name, "param.")
	_, declared := c.runner.Params[param]
	switch {
	case key == "fresh_args" && name == resumeName:
		c.fault("these arguments are for agents without a resume value", "move it to resume_args", key, i)
	case isParam && declared || slices.Contains(variables(), name):
	case isParam:
		c.fault(fmt.Sprintf("parameter %q is not declared", param), "declare it under params", key, i)
	case name == "VIGIL_TOKEN" || name == "VIGIL_TOKEN_FILE":
		c.fault("the token would be shown to everybody in the list of processes",
			"read it from the file that VIGIL_TOKEN_FILE names", key, i)
	default:
		c.fault(fmt.Sprintf("${%s} is unknown", name), "use ${param.NAME}, ${"+
			strings.Join(variables(), "}, ${")+"}, or write $${ for a literal ${", key, i)
	}
}

// checkResume sees to it that a resume value, which an agent chooses, becomes an
// argument only when it looks like one of its tool.
func (c *checker) checkResume() {
	r := c.runner
	used := false
	for _, t := range slices.Concat(r.args, r.resume) {
		used = used || slices.Contains(t.names(), resumeName)
	}
	pattern := r.ResumePattern
	if pattern == "" {
		pattern = DefaultPattern
	}
	re, err := whole(pattern)
	switch {
	case err != nil:
		c.fault(err.Error(), "write a regular expression as in https://golang.org/s/re2syntax", "resume_pattern")
	case used:
		r.resumed = re
	case r.ResumePattern != "":
		c.fault("no argument holds ${"+resumeName+"}", "put it into resume_args, or remove the pattern",
			"resume_pattern")
	}
}

func (c *checker) checkLife() {
	r := c.runner
	if r.Kind != "" && r.Kind != KindExec && r.Kind != KindTmux {
		c.fault(fmt.Sprintf("%q is no kind of runner", r.Kind), "write "+KindExec+" or "+KindTmux, "kind")
	}
	if r.RunLimit < 0 || r.RunLimit > MaxRunLimit {
		c.fault(fmt.Sprintf("%s is not between 0s and %s", r.RunLimit, MaxRunLimit),
			"give a duration such as 2h, or 0s for none", "run_limit")
	}
	if r.Limits.Memory > 0 && r.Limits.Memory < minMemory {
		c.fault(fmt.Sprintf("no program runs in %d bytes", r.Limits.Memory),
			"give a size such as 2GiB, or 0 for no limit", "limits", "memory_max")
	}
}

// minMemory catches sizes whose unit was forgotten.
const minMemory = 1 << 20

func (c *checker) checkUsageLimits() {
	for i, u := range c.runner.UsageLimits {
		if u.Code < 0 || u.Code > 255 {
			c.fault(fmt.Sprintf("%d is no exit code", u.Code), "give 1 to 255, or leave it out for any",
				"usage_limit", i, "exit_code")
		}
		if u.Code == 0 && u.Pattern == "" {
			c.fault("every exit would be a usage limit", "give an exit_code, a pattern, or both", "usage_limit", i)
		}
		if u.After < 0 || u.After > MaxRetryAfter {
			c.fault(fmt.Sprintf("%s is not between 0s and %s", u.After, MaxRetryAfter),
				"give a duration such as 1h, or leave it out", "usage_limit", i, "after")
		}
		re, err := regexp.Compile(u.Pattern)
		if err != nil {
			c.fault(err.Error(), "write a regular expression as in https://golang.org/s/re2syntax",
				"usage_limit", i, "pattern")
			continue
		}
		for _, name := range re.SubexpNames() {
			if name != "" && !slices.Contains(waitGroups(), name) {
				c.fault(fmt.Sprintf("group %q says nothing", name),
					"name groups "+strings.Join(waitGroups(), ", ")+", or do not name them", "usage_limit", i,
					"pattern")
			}
		}
	}
}

// waitGroups are the names of groups in the pattern of a usage limit.
func waitGroups() []string { return []string{"seconds", "minutes", "hours", "at"} }
