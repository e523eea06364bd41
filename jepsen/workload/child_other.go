//go:build !linux

package workload

import "os/exec"

func dieWithUs(*exec.Cmd) {} // stands exist on Linux only

func clockShift() int64 { return 0 }
