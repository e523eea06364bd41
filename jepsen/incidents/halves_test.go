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

// Rows wait most of their time, for leases that end and hosts that come back. So a run of all of them is
// two programs side by side, each with every other row and a stand in a namespace of its own.

// halved tells whether this run is to be made by two programs: nobody has chosen rows, and nobody profiles.
func halved() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.cpuprofile", "test.memprofile",
		"test.trace", "test.coverprofile"} {
		if flag.Lookup(name).Value.String() != "" {
			return false
		}
	}
	return !stand.Isolated() && flag.Lookup("test.count").Value.String() == "1"
}

// halves runs this program once for each half of the rows, prints what they print one after the other, and
// gives 1 when one of them failed. What stands run is built once, for both.
func halves() int {
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
	var rows [2][]string
	for i, name := range strings.Fields(string(list)) {
		rows[i%2] = append(rows[i%2], name)
	}
	runtime.LockOSThread() // the death signal follows the thread that forks
	defer runtime.UnlockOSThread()
	var halves [2]*exec.Cmd
	var said [2]bytes.Buffer
	for i := range halves {
		args := append(slices.Clone(os.Args[1:]), "-programs", programs,
			"-test.run", "^("+strings.Join(rows[i], "|")+")$")
		halves[i] = exec.Command(self, args...)
		halves[i].Stdout, halves[i].Stderr = &said[i], &said[i]
		halves[i].SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		if err := halves[i].Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1 // what was started dies with this process
		}
	}
	code := 0
	for i, half := range halves {
		if err := half.Wait(); err != nil {
			fmt.Fprintln(&said[i], err)
			code = 1
		}
		os.Stdout.Write(said[i].Bytes())
	}
	return code
}
