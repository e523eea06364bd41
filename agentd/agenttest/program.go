package agenttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
)

// Program is the path of the test binary of the package whose tests run, for tests in which other processes are that
// binary too: a shim, an agent. A binary with the race detector takes many times as long to start and to work, and
// such tests start hundreds: then it is the same binary built without it, once, beside it. It panics if that cannot be
// built. Any goroutine may call it.
var Program = sync.OnceValue(func() string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	if !raced() {
		return self
	}
	built := filepath.Join(filepath.Dir(self), filepath.Base(self)+".plain")
	// The directory of a test that runs is that of its package.
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-o", built, ".").CombinedOutput(); err != nil {
		panic(string(out))
	}
	return built
})

// raced tells if this binary has the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
