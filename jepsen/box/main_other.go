//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "box: simulated machines need Linux namespaces")
	os.Exit(2)
}
