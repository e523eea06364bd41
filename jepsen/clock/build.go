package clock

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// variable names the file with the offset; stepped.go.txt repeats it.
const variable = "JEPSEN_CLOCK"

// ErrSource says that package time of the installed Go does not look as expected.
var ErrSource = errors.New("the source of package time is not as expected: adapt package clock to this version of Go")

//go:embed stepped.go.txt
var stepped []byte

// The edit of time.go.
const (
	before = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	after  = before + "\tsec, nsec = stepped(sec, nsec, mono)\n"
)

// Overlay writes the overlay for the installed Go into a folder and gives the file
// that is for go build -overlay.
func Overlay(folder string) (string, error) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("find the source of Go: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	source, err := os.ReadFile(filepath.Join(dir, "time.go"))
	if err != nil {
		return "", fmt.Errorf("read the source of package time: %w", err)
	}
	edited, err := edit(source)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range map[string][]byte{"time.go": edited, "stepped.go": stepped} {
		replace[filepath.Join(dir, name)] = filepath.Join(folder, name)
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return "", fmt.Errorf("write overlay: %w", err)
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	file := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	return file, nil
}

// edit makes Now call stepped.
func edit(source []byte) ([]byte, error) {
	if n := bytes.Count(source, []byte(before)); n != 1 {
		return nil, fmt.Errorf("%w (the beginning of Now is there %d times)", ErrSource, n)
	}
	if bytes.Contains(source, []byte("stepped")) {
		return nil, fmt.Errorf("%w (the name stepped is taken)", ErrSource)
	}
	return bytes.Replace(source, []byte(before), []byte(after), 1), nil
}

// Build builds a package of the module of the current directory such that its wall
// clock can be stepped. Flags are further ones of go build. The first build compiles
// nearly everything once more, which takes minutes on a slow machine; later ones find
// it in Go's cache.
func Build(program, pkg string, flags ...string) error {
	folder, err := os.MkdirTemp("", "clock")
	if err != nil {
		return fmt.Errorf("write overlay: %w", err)
	}
	defer os.RemoveAll(folder)
	overlay, err := Overlay(folder)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-overlay", overlay, "-o", program}, flags...)
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s with a clock that can be stepped: %w: %s", pkg, err, out)
	}
	return nil
}
