package python

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func python(t *testing.T, args ...string) string {
	t.Helper()
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
	if out := python(t, "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-t", ".", "-s", "tests"); !strings.Contains(out, "\nOK") {
		t.Errorf("the tests say:\n%s", out)
	}
}

// All of it can be read by Python 3.9.
func TestPythonIsOf39(t *testing.T) {
	python(t, "-c", `import ast, glob
files = glob.glob("vigil/*.py") + glob.glob("examples/*.py")
assert len(files) > 15, files
for name in files:
    ast.parse(open(name).read(), name, feature_version=(3, 9))
`)
}

// Its types are right, as strictly as mypy looks.
func TestPythonTypes(t *testing.T) {
	if _, err := exec.LookPath("mypy"); err != nil {
		t.Skip("types are not checked: no mypy")
	}
	out, err := exec.Command("mypy", "--strict", "--python-version", "3.9", "--cache-dir", t.TempDir(), "vigil",
		"examples").CombinedOutput()
	if err != nil {
		t.Errorf("mypy: %v\n%s", err, out)
	}
}
