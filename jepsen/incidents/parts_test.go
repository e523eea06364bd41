//go:build linux

package incidents

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"vigil/jepsen/stand"
)

// parts is in how many programs a run of all rows is made, side by side, each with its share of the rows and a stand
// in a namespace of its own: rows wait most of their time, for leases that end and hosts that come back. With three
// on two cores leaders lost their majority, and it took longer.
const parts = 2

// parted tells whether this run is to be made in parts: nobody has chosen rows, and nobody profiles.
func parted() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.cpuprofile", "test.memprofile",
		"test.trace", "test.coverprofile"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !stand.Isolated() && flag.Lookup("test.count").Value.String() == "1"
}

// inParts runs this program once for each part of the rows, prints what they print one after the other, and
// gives 1 when one of them failed. What stands run is built once, for all.
func inParts() int {
	programs, err := os.MkdirTemp("", "vigil-incidents-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	if err := os.Chmod(programs, 0o711); err != nil { // agents have accounts of their own
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := stand.Build(programs, *vigilFlag); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	list, err := exec.Command(self, "-test.list", "^Test").Output()
	if err != nil {
		fmt.Fprintf(os.Stderr, "list the rows: %v\n", err)
		return 1
	}
	var rows [parts][]string
	for i, name := range strings.Fields(string(list)) {
		rows[i%parts] = append(rows[i%parts], name)
	}
	runtime.LockOSThread() // the death signal follows the thread that forks
	defer runtime.UnlockOSThread()
	var running [parts]*exec.Cmd
	var said [parts]bytes.Buffer
	for i := range running {
		args := append(slices.Clone(os.Args[1:]), "-programs", programs,
			"-test.run", "^("+strings.Join(rows[i], "|")+")$")
		running[i] = exec.Command(self, args...)
		running[i].Stdout, running[i].Stderr = &said[i], &said[i]
		running[i].SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := running[i].Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1 // what was started dies with this process
		}
	}
	code := 0
	for i, part := range running {
		if err := part.Wait(); err != nil {
			fmt.Fprintln(&said[i], err)
			code = 1
		}
		os.Stdout.Write(said[i].Bytes())
	}
	return code
}
