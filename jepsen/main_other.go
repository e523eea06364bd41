//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "jepsen: a stand is made of namespaces of Linux")
	os.Exit(2)
}
