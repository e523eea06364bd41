package cli

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/cmd/vigil/term"
)

// ReadFile reads a file that the user named, - for standard input.
func (a *App) ReadFile(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(io.LimitReader(a.In, maxInput+1))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		return limited("standard input", b)
	}
	f, _, err := OpenFile(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInput+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return limited(name, b)
}

// maxInput is more than any text that the cluster takes.
const maxInput = 4 << 20

// maxCounted is how much of a result is read to say how large it is: standard input may have no end.
const maxCounted = 1 << 30

func limited(name string, b []byte) (string, error) {
	if len(b) > maxInput {
		return "", Usagef("%s has more than %s: put large content into a file and name that", name,
			term.BytesText(maxInput))
	}
	return string(b), nil
}

// OpenFile opens a file that the user named.
func OpenFile(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, WrongUsage(fmt.Errorf("%w: give the path of a file that can be read", err))
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		f.Close()
		return nil, nil, Usagef("%s is not a file", name)
	}
	return f, info, nil
}

// FirstOf gives the first argument, "" when there is none.
func FirstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// MaxTaskText is what the cluster takes.
const MaxTaskText = 256 << 10

// TaskText reads the text of a task from a flag or a file.
func TaskText(a *App, cmd *cobra.Command, text, file string) (string, error) {
	name := "the text"
	if cmd.Flags().Changed("file") {
		var err error
		if text, err = a.ReadFile(file); err != nil {
			return "", err
		}
		name = file
	}
	if len(text) > MaxTaskText {
		return "", Usagef("%s has %s, a task takes at most %s: "+
			"put large content into a file and name it in the task",
			name, term.BytesText(int64(len(text))), term.BytesText(MaxTaskText))
	}
	return text, nil
}

// SplitAgent splits room/role.
func SplitAgent(text string) (room, role string, err error) {
	room, role, ok := strings.Cut(text, "/")
	if !ok || room == "" || role == "" || strings.Contains(role, "/") {
		return "", "", Usagef("%q is not of the form room/role", text)
	}
	return room, role, nil
}

// ResultFlag reads the result of a task from an argument or a file.
type ResultFlag struct{ file string }

// Add adds the flag to a command.
func (f *ResultFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "result-file", "",
		"file with the result, - for standard input; what is too long is cut")
}

// Read gives the result, which is text or what the file holds. Of a file as much is kept as fits, like in the SDKs: a
// tool that prints more would do so with each attempt, and the loop that runs it has nothing else to end its task with.
func (f *ResultFlag) Read(a *App, cmd *cobra.Command, text string) (string, error) {
	if cmd.Flags().Changed("result-file") {
		if text != "" {
			return "", Usagef("give the result as text or with --result-file, not both")
		}
		return f.kept(a)
	}
	if len(text) > MaxTaskText {
		return "", Usagef("the result has %s, at most %s are kept: put it into a file and name that",
			term.BytesText(int64(len(text))), term.BytesText(MaxTaskText))
	}
	return text, nil
}

// kept gives what the file holds, as much of it as the cluster keeps, and says so where that is not all.
func (f *ResultFlag) kept(a *App) (string, error) {
	in, name := a.In, "standard input"
	if f.file != "-" {
		file, _, err := OpenFile(f.file)
		if err != nil {
			return "", err
		}
		defer file.Close()
		in, name = file, f.file
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput))
	size := int64(len(b))
	if err == nil && size == maxInput { // the rest is only counted
		var rest int64
		rest, err = io.Copy(io.Discard, io.LimitReader(in, maxCounted-maxInput))
		size += rest
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	text := strings.ToValidUTF8(string(b[:min(len(b), MaxTaskText+utf8.UTFMax)]), "\uFFFD")
	fits := strings.ToValidUTF8(text[:min(len(text), MaxTaskText)], "")
	if !strings.HasPrefix(string(b), fits) {
		fmt.Fprintf(a.Err, "%s: what is no UTF-8 is kept as \uFFFD\n", term.Safe(name))
	}
	if len(fits) == len(text) {
		return text, nil
	}
	much := "it had"
	if size == maxCounted {
		much = "it had at least"
	}
	note := fmt.Sprintf("...\n[cut: %s %d bytes]", much, size)
	fmt.Fprintf(a.Err, "%s: the result was cut, %s %d bytes and at most %d are kept: put it into a file and name that\n",
		term.Safe(name), much, size, MaxTaskText)
	return strings.ToValidUTF8(fits[:MaxTaskText-len(note)], "") + note, nil
}

// ExpectFlag reads how long a task, or the rest of it, is expected to take.
type ExpectFlag struct{ span time.Duration }

// Add adds the flag to a command; about is its help.
func (f *ExpectFlag) Add(cmd *cobra.Command, about string) {
	cmd.Flags().DurationVar(&f.span, "expect", 0, about)
}

// Read gives nil when nothing was said.
func (f *ExpectFlag) Read(cmd *cobra.Command) (*durationpb.Duration, error) {
	if !cmd.Flags().Changed("expect") {
		return nil, nil
	}
	if f.span < minExpect || f.span > maxExpect {
		return nil, Usagef("flag --expect: %s is not possible, give 1s to 720h", f.span)
	}
	return durationpb.New(f.span), nil
}

// DelayFlag reads for how long a task is put off.
type DelayFlag struct {
	name string
	span time.Duration
	at   string
}

// Add adds the flag of this name to a command; about is its help.
func (f *DelayFlag) Add(cmd *cobra.Command, name, about string) {
	f.name = name
	cmd.Flags().DurationVar(&f.span, name, 0, about)
}

// AddAt adds the flag --at, which says until when instead. The cluster is told a duration, since
// it has a clock of its own.
func (f *DelayFlag) AddAt(cmd *cobra.Command, about string) {
	cmd.Flags().StringVar(&f.at, "at", "", about+": "+timeForms)
	cmd.MarkFlagsMutuallyExclusive(f.name, "at")
	_ = cmd.RegisterFlagCompletionFunc("at", cobra.NoFileCompletions) // the flag is there
}

// readAt gives the time from now until the one that --at names.
func (f *DelayFlag) readAt(now time.Time) (*durationpb.Duration, error) {
	at, err := ParseTime(f.at, now)
	if err != nil {
		return nil, Usagef("flag --at: %w", err)
	}
	const form = "2006-01-02 15:04:05 -07:00"
	switch span := at.Sub(now); {
	case span <= 0:
		return nil, Usagef("flag --at: %s is past, it is %s now: leave it out, or give a time to come",
			at.Format(form), now.Format(form))
	case span > maxExpect:
		return nil, Usagef("flag --at: %s is more than 30 days from now: give an earlier time", at.Format(form))
	default:
		return durationpb.New(span), nil
	}
}

// Read gives nil when nothing was said.
func (f *DelayFlag) Read(cmd *cobra.Command, now time.Time) (*durationpb.Duration, error) {
	if cmd.Flags().Changed("at") {
		return f.readAt(now)
	}
	if !cmd.Flags().Changed(f.name) {
		return nil, nil
	}
	if f.span <= 0 || f.span > maxExpect {
		return nil, Usagef("flag --%s: %s is not possible, give up to 720h", f.name, f.span)
	}
	return durationpb.New(f.span), nil
}

// What the cluster takes.
const (
	minExpect = time.Second
	maxExpect = 30 * 24 * time.Hour
)
