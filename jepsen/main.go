//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"vigil/jepsen/nemesis"
	"vigil/jepsen/stand"
	"vigil/jepsen/workload"
)

// Exit codes.
const (
	kept   = 0
	broken = 1
	failed = 2
)

const usage = `usage: jepsen run [flags] | check FOLDER | list | ready

  run     let faults loose on servers and hosts made of namespaces, and judge (run -h: flags)
  check   judge the record of an earlier run again and write its report anew
  list    the workloads, and the kinds of faults by lane
  ready   tell whether this machine can make a stand
`

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !stand.Isolated() {
		// The copy in the namespace ends the run in good order and this process waits
		// for it; without this process the copy is killed.
		signals = signals[:1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	code, err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "jepsen:", err)
	}
	os.Exit(code)
}

// command runs one command and gives the exit code.
func command(ctx context.Context, args []string, out, errs io.Writer) (int, error) {
	if len(args) == 0 {
		fmt.Fprint(errs, usage)
		return failed, nil
	}
	switch args[0] {
	case "run":
		o, err := parse(args[1:], errs)
		if errors.Is(err, flag.ErrHelp) {
			return kept, nil
		}
		if err != nil {
			return failed, err
		}
		return begin(ctx, o, out)
	case "check":
		if len(args) != 2 {
			return failed, errors.New("check takes the folder of a run")
		}
		return judge(args[1], out)
	case "list":
		return kept, list(out)
	case "ready":
		if why := stand.Missing(); why != "" {
			return failed, errors.New(why)
		}
		return kept, nil
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return kept, nil
	}
	fmt.Fprint(errs, usage)
	return failed, fmt.Errorf("there is no command %q", args[0])
}

// list tells what there is to choose.
func list(out io.Writer) error {
	fmt.Fprintln(out, "workloads:")
	for _, name := range workload.Names() {
		fmt.Fprintln(out, "  "+name)
	}
	lane := ""
	for _, k := range nemesis.Kinds() {
		if k.Lane != lane {
			lane = k.Lane
			fmt.Fprintf(out, "\nfaults of lane %s:\n", lane)
		}
		fmt.Fprintf(out, "  %-28s %s\n", k.Name, k.Says)
	}
	return nil
}

// begin builds the programs, then goes on in a network namespace of its own, in a copy
// of this process: what it does needs no network, but building may.
func begin(ctx context.Context, o *options, out io.Writer) (int, error) {
	if why := stand.Missing(); why != "" {
		return failed, errors.New(why)
	}
	if !stand.Isolated() {
		folder, err := o.folder()
		if err != nil {
			return failed, err
		}
		if err := prepare(o, folder); err != nil {
			return failed, errors.Join(err, os.RemoveAll(folder))
		}
		if err := os.Setenv(folderOf, folder); err != nil {
			return failed, err
		}
		code, err := stand.Isolate()
		if err != nil {
			code = failed
		}
		return code, err
	}
	return perform(ctx, o, os.Getenv(folderOf), out)
}

// folderOf tells the copy in the namespace where the run is.
const folderOf = "VIGIL_JEPSEN_FOLDER"
