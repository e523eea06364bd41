package clock

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// variable names the file with the offset; package stepped repeats it.
const variable = "JEPSEN_CLOCK"

// imported is the file that the program under test gets beside its own.
const imported = "package main\n\nimport _ \"vigil/jepsen/clock/stepped\"\n"

// overlay writes the overlay that adds the file to a program into a folder and gives what is for go build -overlay.
func overlay(folder, pkg string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		return "", fmt.Errorf("find the source of %s: %w", pkg, err)
	}
	dir := strings.TrimSpace(string(out))
	added, file := filepath.Join(folder, "stepped.go"), filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(dir, "jepsen_stepped.go"): added}})
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	for name, text := range map[string][]byte{added: []byte(imported), file: text} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return "", fmt.Errorf("write overlay: %w", err)
		}
	}
	return file, nil
}

// Build builds a program of the module of the current directory such that its wall clock can be stepped. Flags are
// further ones of go build. It compiles no more than Go's cache lacks of the program as it is.
func Build(program, pkg string, flags ...string) error {
	folder, err := os.MkdirTemp("", "clock")
	if err != nil {
		return fmt.Errorf("write overlay: %w", err)
	}
	defer os.RemoveAll(folder)
	file, err := overlay(folder, pkg)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-overlay", file, "-o", program}, flags...)
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return fmt.Errorf("build %s with a clock that can be stepped: %w: %s", pkg, err, out)
	}
	return nil
}
