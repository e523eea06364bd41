package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// built is the program under test, in a folder to put into PATH.
var built = struct {
	once sync.Once
	dir  string
	err  error
}{}

// sideBySide is how many fleets run at once: they wait more than they work.
const sideBySide = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) { // its default
		_ = flag.Set("test.parallel", sideBySide) // a number
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real processes")
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "vigil-docs-"); built.err != nil {
			return
		}
		cmd := exec.Command("go", "build", "-o", filepath.Join(built.dir, "vigil"), "./cmd/vigil")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build: %w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}
