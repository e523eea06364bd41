package runner

import (
	"regexp"
	"strings"
)

// Dialogs that no pattern of a runner knows, too: a cursor before a numbered choice, also in a frame; what a key is
// for; a question for yes or no, which stands at the end.
var (
	choice  = regexp.MustCompile(`(?m)^[ \t]*(?:[│┃|] *[●◉•]|[│┃|]? *[❯›▶>→]) *([0-9]{1,2})[.)] (.*)`)
	confirm = regexp.MustCompile(`(?i)\benter to (?:select|confirm|submit|continue|proceed)\b`)
	yesNo   = regexp.MustCompile(`(?i)[\[(]y(?:es)?[/|]no?[\])][ \t]*[:?>]?$`)
)

// Chooses tells whether something that has to be chosen or confirmed seems to stand at the end of a screen, whatever
// the tool: then a line that is typed, or the Enter key alone, may choose. The text is cleaned by Tidy before. It
// errs on the side of a dialog.
func Chooses(screen string) bool {
	lines := strings.Split(screen, "\n")
	last := strings.Join(lines[max(0, len(lines)-DefaultPromptLines):], "\n")
	return choice.MatchString(last) || confirm.MatchString(last) || yesNo.MatchString(lines[len(lines)-1])
}

// Chosen gives the number and the words of the choice that is highlighted, the last one at the end of a screen; empty:
// none is. The text is cleaned by Tidy before.
func Chosen(screen string) (number, words string) {
	lines := strings.Split(screen, "\n")
	last := strings.Join(lines[max(0, len(lines)-DefaultPromptLines):], "\n")
	if all := choice.FindAllStringSubmatch(last, -1); len(all) > 0 {
		one := all[len(all)-1]
		return one[1], strings.Trim(one[2], " \t│┃|")
	}
	return "", ""
}
