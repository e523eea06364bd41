//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"vigil/jepsen/stand/boxwords"
)

// processes lists what runs on this machine, by number. Zombies are not listed.
func processes() ([]boxwords.Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var list []boxwords.Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		// What ends meanwhile is left out.
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		// The name of the program may hold spaces and brackets.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		parent, _ := strconv.Atoi(fields[1]) // the kernel writes a number
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		list = append(list, boxwords.Process{PID: pid, Parent: parent, State: fields[0], Args: args})
	}
	return list, nil
}
