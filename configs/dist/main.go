package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	out := flag.String("out", "", "folder that is made anew, with all that is installed from")
	compare := flag.Bool("compare", false, "make everything a second time and compare")
	only := flag.String("only", "", "make these platforms only, such as linux/amd64,windows/amd64; empty: all")
	flag.Parse()
	if err := run(*out, *only, *compare); err != nil {
		fmt.Fprintln(os.Stderr, "make dist:", err)
		os.Exit(1)
	}
}

// run works in the folder of this module, configs/dist.
func run(out, only string, compare bool) error {
	if out == "" || flag.NArg() > 0 {
		return fmt.Errorf("name the folder with -out, and nothing else")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	r, err := releaseOf(root)
	if err != nil {
		return err
	}
	if err := r.make(out, only); err != nil {
		return err
	}
	if !compare {
		return nil
	}
	again, err := os.MkdirTemp("", "vigil-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(again)
	// Under another path, and not of what the first one compiled into its own folder.
	if err := r.make(filepath.Join(again, "second"), only); err != nil {
		return err
	}
	return same(out, filepath.Join(again, "second"))
}

// release is what all files are made of.
type release struct {
	root    string // of the checkout
	version string // as packages write it: 0.2.0, or 0.2.0~20261126.313408c before that
	commit  string
	at      time.Time // of the commit; all files carry it
}
