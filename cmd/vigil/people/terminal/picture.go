package terminal

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"vigil/cmd/vigil/term"
	"vigil/rpc/gen/vigilv1"
)

// picture is what the stream of a terminal brings: a screen, or why there is none.
type picture struct {
	screen *vigilv1.Screen
	err    error
	over   bool // the life has ended
}

// follow brings pictures until ctx ends or the life does, from whichever server answers.
func (s *seat) follow(ctx context.Context, pictures chan<- picture) {
	send := func(p picture) bool {
		select {
		case pictures <- p:
			return !p.over
		case <-ctx.Done():
			return false
		}
	}
	for from := s.from; ; {
		var err error
		if from == nil {
			from, err = s.fleet.FollowScreen(ctx, &vigilv1.FollowScreenRequest{Agent: s.agent})
		}
		for err == nil {
			var screen *vigilv1.Screen
			if screen, err = from.Recv(); err == nil && !send(picture{screen: screen, over: screen.GetIncarnation() != s.life}) {
				return
			}
		}
		if from = nil; !send(picture{err: err, over: s.ended(ctx)}) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookAgain):
		}
	}
}

// ended asks whether the life that one sits at runs no more; false where nobody knows.
func (s *seat) ended(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, riseLimit)
	defer cancel()
	a, err := s.fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: s.agent})
	return err == nil && (a.GetAgent().GetIncarnation() != s.life || a.GetAgent().GetProcess() != "running")
}

// see takes a picture, or notes why none comes.
func (s *seat) see(p picture) {
	s.over = p.over
	switch {
	case p.err == nil:
		s.frame, s.lost = p.screen, nil
	case s.lost == nil:
		s.lostSince = s.now()
		fallthrough
	default:
		s.lost = p.err
	}
}

// draw gives all that this terminal has to show: the part of the agent's screen around the cursor, as much as
// fits, and a line that says whose terminal it is.
func (s *seat) draw() string {
	columns, rows := s.size()
	rows = max(rows-1, 1)
	left := corner(int(s.frame.GetCursorX()), int(s.frame.GetColumns()), columns)
	top := corner(int(s.frame.GetCursorY()), int(s.frame.GetRows()), rows)
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l")
	lines := crop(s.frame.GetText(), left, columns, top, rows)
	for i := range rows {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m\x1b[K", i+1)
		if i < len(lines) {
			b.WriteString(lines[i])
		}
	}
	line := " " + ansi.Truncate(s.line(), max(columns-2, 1), "…")
	fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0;7m\x1b[K%s%s\x1b[0m", rows+1, line,
		strings.Repeat(" ", max(0, columns-ansi.StringWidth(line))))
	if !s.frame.GetCursorHidden() {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", int(s.frame.GetCursorY())-top+1, int(s.frame.GetCursorX())-left+1)
	}
	b.WriteString("\x1b[?2026l")
	return b.String()
}

// line is what the last line says.
func (s *seat) line() string {
	agent := term.OneLine(s.agent)
	switch {
	case s.lost != nil:
		return fmt.Sprintf("This is %s old: %s (%s leaves)", term.Short(s.now().Sub(s.lostSince).Truncate(time.Second)),
			term.OneLine(term.Tidy(s.lost.Error())), leaveName)
	case s.said != "":
		return term.OneLine(term.Tidy(s.said))
	case s.readOnly:
		return fmt.Sprintf("You look at %s. %s leaves.", agent, leaveName)
	case s.turn.idle(s.now()):
		return fmt.Sprintf("%s is free again after a minute without a key; "+
			"your next key takes it. %s leaves.", agent, leaveName)
	}
	return fmt.Sprintf("What you type goes to %s. %s leaves.", agent, leaveName)
}

// corner is where a window of some length begins on a side of the agent's screen so that the cursor is in it.
func corner(cursor, side, window int) int {
	return max(0, min(cursor-window*3/4, side-window))
}

// colour is an escape that colours text: all that is left of the escapes of a screen.
var colour = regexp.MustCompile("\x1b\\[[0-9;:]*m")

// mostColours bounds the escapes that are carried from line to line, in bytes.
const mostColours = 512

// crop cuts a window out of a screen. Colours go on from line to line, so each line begins with those that the
// lines before it have left.
func crop(text string, left, columns, top, rows int) (lines []string) {
	filter, carried := term.Drawing{Plain: true}, ""
	for i, line := range strings.Split(text, "\n") {
		if i >= top+rows {
			break
		}
		line = strings.NewReplacer("\r", "", "\t", " ").Replace(string(filter.Pass([]byte(line))))
		if i >= top {
			lines = append(lines, ansi.Cut(carried+line, left, left+columns))
		}
		for _, c := range colour.FindAllString(line, -1) {
			if carried += c; strings.HasPrefix(c, "\x1b[0") || c == "\x1b[m" || len(carried) > mostColours {
				carried = c
			}
		}
	}
	return lines
}
