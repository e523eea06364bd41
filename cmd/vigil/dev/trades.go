package dev

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"vigil/rpc/client"
)

// checksum computes the SHA-256 of a file in four steps and hands the file on to
// the role that counts its words.
func (d *devAgent) checksum(ctx context.Context, job *client.Job, name string) (string, error) {
	f, size, err := d.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	const steps = 4
	for i := range int64(steps) {
		part := size*(i+1)/steps - size*i/steps
		if _, err := io.CopyN(sum, f, part); err != nil {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
		if err := d.step(ctx, job, "%d of %d bytes", size*(i+1)/steps, size); err != nil {
			return "", err
		}
	}
	result := "sha256 " + hex.EncodeToString(sum.Sum(nil)) + " " + name
	// The hand-off is the last word on this task; what is returned is not needed then.
	_, err = job.Handoff(ctx, result, client.Next{Role: "words", Title: "count the words of " + name, Text: name})
	return result, err
}

// words counts lines and words and finds the most frequent ones.
func (d *devAgent) words(ctx context.Context, job *client.Job, name string) (string, error) {
	f, size, err := d.open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines, words, read := 0, 0, int64(0)
	count := map[string]int{}
	scan := bufio.NewScanner(f)
	for next := size / 4; scan.Scan(); {
		lines++
		read += int64(len(scan.Bytes())) + 1
		for word := range strings.FieldsFuncSeq(strings.ToLower(scan.Text()),
			func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
			words++
			if len(word) > 3 && (count[word] > 0 || len(count) < 100_000) {
				count[word]++
			}
		}
		if read >= next && next < size {
			next += max(size/4, 1)
			if err := d.step(ctx, job, "%d lines, %d words so far", lines, words); err != nil {
				return "", err
			}
		}
	}
	if err := scan.Err(); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return fmt.Sprintf("%s: %d lines, %d words%s", name, lines, words, frequent(count)), nil
}

// frequent lists the three most frequent words.
func frequent(count map[string]int) string {
	list := make([]string, 0, len(count))
	for word := range count {
		list = append(list, word)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	var top []string
	for _, word := range list[:min(3, len(list))] {
		top = append(top, fmt.Sprintf("%s (%d)", word, count[word]))
	}
	if len(top) == 0 {
		return ""
	}
	return "; most frequent: " + strings.Join(top, ", ")
}

// vet examines a Go module: with `go vet` where there is one, else by parsing it.
func (d *devAgent) vet(ctx context.Context, job *client.Job, name string) (string, error) {
	info, err := d.root.Stat(named(name))
	if err != nil {
		return "", fmt.Errorf("look at module %q: %w", name, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%q is a file: the text of a vet task names the folder of a Go module", name)
	}
	if err := d.step(ctx, job, "examining module %s", name); err != nil {
		return "", err
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		return d.parse(name)
	}
	cmd := exec.CommandContext(ctx, goTool, "vet", "./...")
	cmd.Dir = filepath.Join(d.files, name)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "go vet: nothing to complain about in " + name, nil
	case errors.As(err, &exit) && exit.Exited() && bytes.Contains(out, []byte(".go:")):
		return "go vet: " + string(bytes.TrimSpace(out)), nil
	}
	return "", fmt.Errorf("run go vet in %s: %w: %s: %w", name, err, bytes.TrimSpace(out), client.ErrRetry)
}

// parse reads every Go file below a folder.
func (d *devAgent) parse(name string) (string, error) {
	files, broken := 0, []string{}
	err := fs.WalkDir(d.root.FS(), filepath.Clean(name), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := d.root.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.AllErrors); err != nil {
			broken = append(broken, err.Error())
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read module %s: %w", name, err)
	}
	if len(broken) == 0 {
		return fmt.Sprintf("parsed: nothing to complain about in the %d files of %s", files, name), nil
	}
	return "parsed: " + strings.Join(broken, "; "), nil
}

// open opens a file that a task names.
func (d *devAgent) open(name string) (*os.File, int64, error) {
	f, err := d.root.Open(named(name))
	if err != nil {
		return nil, 0, fmt.Errorf("open the file that the task's text names: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is not a file", name)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// named makes an empty name one that does not exist.
func named(name string) string {
	if name == "" {
		return "(empty)"
	}
	return name
}
