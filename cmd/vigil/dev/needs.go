package dev

import "vigil/cmd/vigil/cli"

// checkSystem refuses systems on which hosts cannot work; system is as runtime.GOOS.
func checkSystem(system string) error {
	if system == "linux" {
		return nil
	}
	return cli.ExitWith(cli.ExitFailed, errNeedsLinux)
}

// errNeedsLinux says what to do instead.
var errNeedsLinux = cli.Lines(`vigil dev needs Linux: agents are watched and frozen there by means that this system lacks.
Run it on a Linux machine, in a VM, or in a container, for instance in this folder:
  docker run --rm -it -v "$PWD":/src -w /src golang:1.26 go run ./cmd/vigil dev
and use a second terminal in it: docker exec -it CONTAINER bash`)
