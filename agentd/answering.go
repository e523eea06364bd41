package agentd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"vigil/agentd/runner"
	"vigil/agentd/shim"
)

const (
	// answerWait is for how long a prompt must have stood since keys were typed before Enter follows: many tools
	// choose by the key alone, and then Enter would answer the next prompt, which nobody has seen.
	answerWait = 300 * time.Millisecond
	// answerLate is the same where nothing has changed on the terminal: the tool may be slow.
	answerLate = time.Second
	// answerLook is the time between two looks meanwhile.
	answerLook = 30 * time.Millisecond
)

var (
	errNoDialog = errors.New("no permission prompt stands on the terminal, nor anything that is to be chosen, so there " +
		"is nothing to answer: look at it with `vigil agent screen`; without --answer it is typed as a message")
	errOther = errors.New("another prompt stands on the terminal than the one that the answer is for, so nothing was " +
		"typed: look at it with `vigil agent screen`, and answer again")
	errCut = errors.New("with the first key of the answer the prompt has gone, so the others were not typed: look at " +
		"the terminal with `vigil agent screen`")
	errNotTaken = errors.New("the prompt does not show the answer, so Enter was not pressed, which takes what is " +
		"highlighted there; what was typed may stand in a field: look at it with `vigil agent screen`, and answer as it " +
		"asks for, or attach to it")
	errChanged = errors.New("the terminal has changed since the answer was typed, so it is not sure which prompt stands " +
		"there, and Enter was not pressed: look at it with `vigil agent screen` before you answer again")
)

// dialog is what can be answered on a terminal.
type dialog struct {
	known bool // a pattern of the runner fits
	words string
	asked string // more of them: what whoever answers has read
}

// dialog finds a permission prompt at the end of a screen, or what no pattern knows and is to be chosen.
func (s *sight) dialog(screen string) (d dialog, ok bool) {
	if s != nil && s.tmux {
		if m, fits := s.prompts.Match(screen); fits && m.Kind == "permission" {
			return dialog{true, m.Words(screen), m.Asked(screen)}, true
		}
	}
	lines := strings.Split(screen, "\n")
	last := runner.Letters(strings.Join(lines[max(0, len(lines)-runner.DefaultPromptLines):], "\n"))
	return dialog{false, last, last}, runner.Chooses(screen)
}

// mark tells one dialog from the next, without its words, to whoever has seen it; empty: none stands there.
func (s *sight) mark(screen string) string {
	d, ok := s.dialog(screen)
	if !ok {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%t %s", d.known, d.asked))
	return hex.EncodeToString(sum[:8])
}

// asks looks for the dialog of a mark; empty: for any.
func (f found) asks(ctx context.Context, mark string) (screen string, err error) {
	screen, err = f.see(ctx)
	switch {
	case noTerminal(err):
		return "", err
	case err != nil:
		return "", fmt.Errorf("whether a prompt stands on the terminal cannot be seen: %w", err)
	}
	switch is := f.sight.mark(screen); {
	case is == "":
		return "", errNoDialog
	case mark != "" && mark != is:
		return "", errOther
	}
	return screen, nil
}

// stands tells whether a dialog of a screen still stands on a later one, where the keys that were typed may be shown.
func (s *sight) stands(before, after, typed string) bool {
	was, _ := s.dialog(before)
	same := func(screen string) bool {
		is, ok := s.dialog(screen)
		return ok && is.known == was.known &&
			(is.words == was.words || was.known && sameWords(is.words, was.words))
	}
	if same(after) {
		return true
	}
	lines, shown := strings.Split(after, "\n"), false
	for i, line := range fresh(before, after) {
		if line == "" {
			continue
		}
		if bare, ok := strings.CutSuffix(line, typed); ok {
			lines[i], shown = strings.TrimRight(bare, " "), true
		}
	}
	if shown && same(strings.Join(lines, "\n")) {
		return true
	}
	// A field among the choices shows the keys in the place of other words, on more lines than one if they are many.
	_, ok := s.dialog(after)
	_, words := runner.Chosen(after)
	return ok && (words == typed || utf8.RuneCountInString(typed) >= minTail && shows(before, after, typed))
}

// fresh gives the lines of a screen that were not on an earlier one, without the right side of a frame; the others
// are empty.
func fresh(before, after string) []string {
	old, lines := strings.Split(before, "\n"), strings.Split(after, "\n")
	for i, line := range lines {
		if lines[i] = strings.TrimRight(line, " \t│┃|█▌_"); slices.Contains(old, line) {
			lines[i] = ""
		}
	}
	return lines
}

// minTail is how many letters at the end of what was typed are looked for, where it fills more lines than one.
const minTail = 8

// shows tells whether a screen shows what was typed since an earlier one.
func shows(before, after, typed string) bool {
	letters := []rune(strings.TrimRight(typed, " "))
	letters = letters[max(0, len(letters)-minTail):]
	tail, hidden := string(letters), strings.Repeat("*", len(letters)) // a field for secrets shows how many they are
	lines := fresh(before, after)
	ends := func(line string) bool { return strings.HasSuffix(line, tail) || strings.HasSuffix(line, hidden) }
	if slices.ContainsFunc(lines, ends) || len(letters) < minTail {
		return slices.ContainsFunc(lines, ends)
	}
	bare := func(text string) string { return strings.Join(strings.Fields(text), "") } // it may break anywhere
	return strings.Contains(bare(strings.Join(lines, "")), bare(tail))
}

// unchanged tells that a screen shows, by its letters, what it showed before keys were typed, the keys, and nothing
// else: two prompts in a row may have the same words, and differ in what they are about further up.
func unchanged(before, after, typed string) bool {
	old, keys := map[string]bool{"": true}, runner.Letters(typed)
	for line := range strings.Lines(before) {
		old[runner.Letters(line)] = true
	}
	for line := range strings.Lines(after) {
		l := runner.Letters(line)
		bare, shown := strings.CutSuffix(l, keys)
		switch {
		case old[l], shown && keys != "" && old[bare]:
		case keys != "" && strings.Contains(keys, l): // one of several lines that it fills
		default:
			return false
		}
	}
	return true
}

// answer types an answer where a dialog stands, key by key: a paste is nothing to most dialogs. Enter follows only
// while that dialog stands and shows the answer, or has it highlighted. With a mark it is the dialog of that mark, or
// nothing is typed. An error comes with a screen once something was typed.
func (f found) answer(ctx context.Context, text, mark string) (screen string, err error) {
	before, err := f.asks(ctx, mark)
	if err != nil {
		return "", err
	}
	// The first key may be all that the dialog takes: the others would go to what comes up behind it.
	_, first := utf8.DecodeRuneInString(text)
	after, stands, err := f.types(ctx, before, "", text[:first])
	switch {
	case err != nil:
		return before, err
	case first == len(text):
	case !stands:
		return before, errCut
	default:
		if after, stands, err = f.types(ctx, before, text[:first], text[first:]); err != nil {
			return before, err
		}
	}
	number, _ := runner.Chosen(after)
	was, _ := runner.Chosen(before)
	is, still := f.sight.dialog(after)
	switch {
	case !stands && still && !is.known: // something else has moved there, or another dialog stands
		return before, errChanged
	case !stands:
		return "", nil
	case !unchanged(before, after, text), after != before && was == text: // its key has changed nothing that it could
		return before, errChanged
	case number != text && !shows(before, after, text):
		return before, errNotTaken
	}
	if err := f.press(ctx, "\r"); err != nil {
		return before, err
	}
	return "", nil
}

// confirm presses the Enter key alone where a dialog stands, with a mark that very one.
func (f found) confirm(ctx context.Context, mark string) error {
	if _, err := f.asks(ctx, mark); err != nil {
		return err
	}
	return f.press(ctx, "\r")
}

// types presses keys behind others and tells whether the dialog of the screen before all of them stands then.
func (f found) types(ctx context.Context, before, others, keys string) (after string, stands bool, err error) {
	if err := f.press(ctx, keys); err != nil {
		return "", false, err
	}
	if after, stands, err = f.settle(ctx, before, others+keys); err != nil {
		err = fmt.Errorf("whether the prompt still stands cannot be seen, so Enter was not pressed: %w", err)
	}
	return after, stands, err
}

// settle waits until the dialog of a screen has gone, or has stood for long enough since keys were typed.
func (f found) settle(ctx context.Context, before, typed string) (after string, stands bool, err error) {
	for begun := time.Now(); ; {
		select {
		case <-time.After(answerLook):
		case <-ctx.Done():
			return "", false, ctx.Err()
		}
		if after, err = f.see(ctx); err != nil {
			return "", false, err
		}
		passed := time.Since(begun)
		switch {
		case !f.sight.stands(before, after, typed):
			return after, false, nil
		case passed >= answerLate, passed >= answerWait && after != before:
			return after, true, nil
		}
	}
}

func (f found) see(ctx context.Context) (string, error) {
	screen, err := f.process.Terminal(ctx, shim.TerminalRequest{Look: true})
	return runner.Tidy(screen), err
}

func (f found) press(ctx context.Context, keys string) error {
	_, err := f.process.Terminal(ctx, shim.TerminalRequest{Keys: hex.EncodeToString([]byte(keys))})
	return err
}
