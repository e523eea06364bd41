package logstore

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Before 1.3.7 the last key behind an empty page was not found (bbolt 341), which is how raft-boltdb
// looks for the end of the log; 1.4.0 crashes on huge values (bbolt 931). raft-boltdb itself asks for
// 1.3.5 only, so go.mod has to ask for more.
func TestN21BoltIsANewOne(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`go\.etcd\.io/bbolt v1\.(\d+)\.(\d+)\s`).FindSubmatch(text)
	if m == nil {
		t.Fatal("go.mod asks for no released bbolt")
	}
	if minor, _ := strconv.Atoi(string(m[1])); minor < 5 {
		t.Errorf("go.mod asks for bbolt 1.%s.%s, want 1.5 or newer", m[1], m[2])
	}
}
