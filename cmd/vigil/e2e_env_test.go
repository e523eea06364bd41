//go:build linux

package main_test

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// Tests of real processes wait more than they work, and run side by side. So what each of them changes of
// the environment is kept for what it starts, and is not the environment of this process.
var environments struct {
	sync.Mutex
	of map[string][]string // by the name of the test, without those of its subtests
}

// setenv sets a variable for all that this test and its subtests start.
func setenv(t *testing.T, key, value string) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	environments.Lock()
	defer environments.Unlock()
	if environments.of == nil {
		environments.of = map[string][]string{}
	}
	environments.of[name] = append(environments.of[name], key+"="+value)
}

// environ is what this test's programs are started with.
func environ(t *testing.T) []string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	environments.Lock()
	defer environments.Unlock()
	return append(os.Environ(), environments.of[name]...)
}

// getenv gives one of these variables.
func getenv(t *testing.T, key string) (value string) {
	t.Helper()
	for _, pair := range environ(t) {
		if v, ok := strings.CutPrefix(pair, key+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}
