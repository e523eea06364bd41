package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"
)

// readFile reads a file that the user named, - for standard input.
func (a *app) readFile(name string) (string, error) {
	if name == "-" {
		b, err := io.ReadAll(io.LimitReader(a.in, maxInput+1))
		if err != nil {
			return "", fmt.Errorf("read standard input: %w", err)
		}
		return limited("standard input", b)
	}
	f, _, err := openFile(name)
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

func limited(name string, b []byte) (string, error) {
	if len(b) > maxInput {
		return "", usagef("%s has more than %s: put large content into a file and name that", name, bytesText(maxInput))
	}
	return string(b), nil
}

// openFile opens a file that the user named.
func openFile(name string) (*os.File, fs.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, wrongUsage(fmt.Errorf("%w: give the path of a file that can be read", err))
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		f.Close()
		return nil, nil, usagef("%s is not a file", name)
	}
	return f, info, nil
}

// confirm asks on standard error and goes on only when the answer is want.
func (a *app) confirm(question, want string) error {
	if _, err := fmt.Fprint(a.err, safe(question)); err != nil {
		return err
	}
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return fmt.Errorf("read the answer: %w", err)
	}
	if got := strings.TrimSpace(line); got != want {
		return usagef("%q is not %q: nothing was changed", oneLine(got), want)
	}
	return nil
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// maxTaskText is what the cluster takes.
const maxTaskText = 256 << 10

// taskText reads the text of a task from a flag or a file.
func taskText(a *app, cmd *cobra.Command, text, file string) (string, error) {
	name := "the text"
	if cmd.Flags().Changed("file") {
		var err error
		if text, err = a.readFile(file); err != nil {
			return "", err
		}
		name = file
	}
	if len(text) > maxTaskText {
		return "", usagef("%s has %s, a task takes at most %s: put large content into a file and name it in the task", name, bytesText(int64(len(text))), bytesText(maxTaskText))
	}
	return text, nil
}

// splitAgent splits room/role.
func splitAgent(text string) (room, role string, err error) {
	room, role, ok := strings.Cut(text, "/")
	if !ok || room == "" || role == "" || strings.Contains(role, "/") {
		return "", "", usagef("%q is not of the form room/role", text)
	}
	return room, role, nil
}

// resultFlag reads the result of a task from an argument or a file.
type resultFlag struct{ file string }

func (f *resultFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "result-file", "", "file with the result, - for standard input")
}

func (f *resultFlag) read(a *app, cmd *cobra.Command, text string) (string, error) {
	if cmd.Flags().Changed("result-file") {
		if text != "" {
			return "", usagef("give the result as text or with --result-file, not both")
		}
		var err error
		if text, err = a.readFile(f.file); err != nil {
			return "", err
		}
	}
	if len(text) > maxTaskText {
		return "", usagef("the result has %s, at most %s are kept: put it into a file and name that", bytesText(int64(len(text))), bytesText(maxTaskText))
	}
	return text, nil
}

// expectFlag reads how long a task, or the rest of it, is expected to take.
type expectFlag struct{ span time.Duration }

func (f *expectFlag) add(cmd *cobra.Command, about string) {
	cmd.Flags().DurationVar(&f.span, "expect", 0, about)
}

// read gives nil when nothing was said.
func (f *expectFlag) read(cmd *cobra.Command) (*durationpb.Duration, error) {
	if !cmd.Flags().Changed("expect") {
		return nil, nil
	}
	if f.span < minExpect || f.span > maxExpect {
		return nil, usagef("flag --expect: %s is not possible, give 1s to 720h", f.span)
	}
	return durationpb.New(f.span), nil
}

// What the cluster takes.
const (
	minExpect = time.Second
	maxExpect = 30 * 24 * time.Hour
)
