package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"vigil/cmd/vigil/cli"
)

func main() {
	beOther()
	// Registered so that a write to a closed pipe gives an error instead of ending
	// the process: an agent has to leave its room first.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	ctx, cancel := context.WithCancelCause(context.Background())
	ctx, hangups := cli.WithHangups(ctx)
	// nohup(1) has it ignored, and means it.
	deaf := signal.Ignored(syscall.SIGHUP)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		next := func() os.Signal {
			for {
				if s := <-signals; s != syscall.SIGHUP || !hangups.Deliver() && !deaf {
					return s
				}
			}
		}
		first := next()
		cancel(cli.SignalError{Sig: first.(syscall.Signal)})
		// timeout(1) and shells signal a process and then its group: the same word
		// twice. Only a later one means that patience is over.
		for began := time.Now(); ; {
			if again := next(); time.Since(began) > 100*time.Millisecond {
				os.Exit(cli.SignalError{Sig: again.(syscall.Signal)}.Code())
			}
		}
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
