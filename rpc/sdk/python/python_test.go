package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// read reads what other programs read, so that a result which go test has kept ends with a change of it.
func read(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"vigil/*", "tests/*.py", "examples/*.py", "examples/models/*.py"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil && filepath.Ext(name) != "" {
				t.Fatal(err)
			}
		}
	}
}

func python(t *testing.T, args ...string) string {
	t.Helper()
	read(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("left out: no python3")
	}
	cmd := exec.Command("python3", args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "VIGIL_SOCKET=", "VIGIL_ADDR=", "VIGIL_AGENT=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python3 %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The tests of the package in its own language.
func TestPython(t *testing.T) {
	if out := python(t, "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-t", ".",
		"-s", "tests"); !strings.Contains(out, "\nOK") {
		t.Errorf("the tests say:\n%s", out)
	}
}

// All of it can be read by Python 3.9.
func TestPythonIsOf39(t *testing.T) {
	python(t, "-c", `import ast, glob
files = glob.glob("vigil/*.py") + glob.glob("examples/**/*.py", recursive=True)
assert len(files) > 20, files
for name in files:
    ast.parse(open(name).read(), name, feature_version=(3, 9))
`)
}

// Its types are right, as strictly as mypy looks.
func TestPythonTypes(t *testing.T) {
	read(t)
	if _, err := exec.LookPath("mypy"); err != nil {
		t.Skip("types are not checked: no mypy")
	}
	out, err := exec.Command("mypy", "--strict", "--python-version", "3.9", "--cache-dir", t.TempDir(), "--exclude",
		"examples/models/", "vigil", "examples").CombinedOutput()
	if err != nil {
		t.Errorf("mypy: %v\n%s", err, out)
	}
}

// The first example of the guide, which the tests of docs run, has ten lines at most.
func TestFirstExampleHasTenLines(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guide/python.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, ok := strings.Cut(string(text), "cat > build.py <<'END'\n")
	example, _, end := strings.Cut(example, "END\n")
	if n := strings.Count(example, "\n"); !ok || !end || n > 10 || !strings.Contains(example, "@vigil.worker") {
		t.Errorf("the first example has %d lines, at most 10 are allowed:\n%s", n, example)
	}
}
