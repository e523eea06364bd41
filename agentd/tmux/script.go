package tmux

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	sessionName = "agent"
	// folderVariable tells the lines of shell below where the fifos are.
	folderVariable = "VIGIL_TERMINAL"
	// Both lines are the same for every agent; tmux fills in numbers. (It would fill in
	// the time for a % of the second.)
	sayStatus = `run-shell "printf '%s %s %s\\n' '#{pane_dead}' '#{pane_dead_status}' '#{pane_dead_signal}' >\"\$` +
		folderVariable + `/status\""`
	passOn = `PATH=/usr/bin:/bin; { echo '#{pane_pid}'; exec cat; } >"$` + folderVariable + `/output"`
)

// script is the configuration of a server: the session with its program, and what
// tells us about it. The commands run without a pause between them, so nothing that
// the program does is missed.
func script(config Config) (string, error) {
	info, err := os.Stat(config.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", config.Dir)
	}
	if err != nil {
		// tmux would silently take another one.
		return "", fmt.Errorf("folder of the agent: %w", err)
	}
	if info, err = os.Stat(config.Path); err == nil && (info.IsDir() || info.Mode().Perm()&0o111 == 0) {
		err = fmt.Errorf("%s cannot be executed", config.Path)
	}
	if err != nil {
		// From tmux it would look like an exit with code 1.
		return "", fmt.Errorf("program of the agent: %w", err)
	}
	argv := append([]string{config.Path}, config.Args...)
	switch {
	case strings.Contains(config.Dir, "#"):
		return "", fmt.Errorf("%w: it gives # a meaning of its own in %s; name another folder", ErrNoTmux, config.Dir)
	case len(config.Args) > 0:
	case strings.Contains(config.Path, "="):
		return "", fmt.Errorf("%w: with no argument %s cannot be started directly because of the = in "+
			"it; rename it", ErrNoTmux, config.Path)
	default:
		// A single word would be given to a shell.
		argv = []string{"/usr/bin/env", "--", config.Path}
	}
	var b strings.Builder
	for _, line := range [][]string{
		{"set", "-s", "set-clipboard", "off"},
		{"set", "-g", "default-terminal", "screen-256color"}, // known everywhere
		{"set", "-g", "update-environment", ""},
		{"set", "-g", "history-limit", "5000"},
		{"set", "-g", "status-left", ""},
		{"set", "-g", "status-right", "leave with C-b d"},
		append([]string{"new-session", "-d", "-s", sessionName, "-x", strconv.Itoa(ownColumns),
			"-y", strconv.Itoa(ownRows), "-c", config.Dir,
			"--"}, argv...),
		// Only this pane: those that an agent opens are its own business.
		{"set", "-p", "-t", sessionName, "remain-on-exit", "on"},
		{"set-hook", "-p", "-t", sessionName, "pane-died", sayStatus},
		{"pipe-pane", "-O", "-t", sessionName, passOn},
	} {
		for _, word := range line {
			b.WriteString(quote(word))
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// quote writes a word so that tmux reads it as it is.
func quote(word string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_./,:@+", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
