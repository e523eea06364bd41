package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/rpc/client"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == childArg {
		beChild(os.Args[2:])
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "ticker:", err)
		os.Exit(1)
	}
}

func run() error {
	cfg, err := client.WorkerFromEnv(os.Getenv)
	if err != nil {
		return err
	}
	folder := os.Getenv("TICKER_LEDGER")
	does, err := behaviour{}.also(strings.Join(os.Args[1:], ","))
	if err != nil {
		return err
	}
	book, err := ledger.Create(folder, cfg.Agent, cfg.Incarnation, os.Getenv("TICKER_HOST"), os.Getpid())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go tick(book, cancel)
	go heed(book, cancel, does.trapTerm)
	if conn, err := net.Dial("unix", filepath.Join(folder, "gone")); err == nil {
		// Open to the end, which is how the driver sees the end.
		defer conn.Close()
		if _, err := conn.Write([]byte(book.Name() + "\n")); err != nil {
			return fmt.Errorf("greet the driver: %w", err)
		}
	}
	if err := does.begin(ctx, folder, cfg.Agent); err != nil {
		return err
	}
	c, err := client.Open(client.Config{Addrs: servers(), Name: "ticker " + cfg.Agent})
	if err != nil {
		return err
	}
	defer c.Close()
	a := &agent{book: book, folder: folder, cfg: cfg, client: c, does: does}
	if err := a.live(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return book.Note("exit")
}

// servers is how a life reaches the cluster: by its socket, or where nobody has an identity by its servers.
func servers() []string {
	if path := os.Getenv(client.EnvSocket); path != "" {
		return []string{"unix:" + path}
	}
	return strings.Split(os.Getenv("VIGIL_ADDR"), ",")
}

// tick notes that this life runs.
func tick(book *ledger.Writer, cancel context.CancelCauseFunc) {
	for {
		time.Sleep(ledger.TickEvery)
		if err := book.Tick(); err != nil {
			cancel(err)
			return
		}
	}
}

// heed notes SIGTERM, and ends this life unless it traps it.
func heed(book *ledger.Writer, cancel context.CancelCauseFunc, trap bool) {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	for range terms {
		if err := book.Note("term"); err != nil || !trap {
			cancel(err)
			return
		}
	}
}

// agent is one life.
type agent struct {
	book   *ledger.Writer
	folder string // of the ledger
	cfg    client.WorkerConfig
	client *client.Client
	does   behaviour
	worker *client.Worker
}

// live joins and works on tasks until ctx ends or the life is over.
func (a *agent) live(ctx context.Context) error {
	sent := ledger.Now()
	w, err := client.Join(ctx, a.client, a.cfg)
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = w.Leave(bye, "it was told to end") // its lease ends by itself
	}()
	if err := a.book.Said(sent, "join", 0, 0); err != nil {
		return err
	}
	a.worker = w
	if err := a.remember(ctx); err != nil {
		return err
	}
	if a.does.deaf {
		return block(ctx)
	}
	for {
		job, err := w.Wait(ctx)
		if err == nil {
			err = a.work(ctx, job)
		}
		switch {
		case w.Context().Err() != nil:
			return context.Cause(w.Context())
		case err != nil:
			return err
		}
	}
}

// work does one task: it takes a few ticks. That somebody else has it now ends the
// task, not the life.
func (a *agent) work(ctx context.Context, job *client.Job) error {
	does, err := a.does.also(job.Task.GetText())
	if err != nil {
		return err
	}
	if job.Task.GetText() != "" {
		does.crashFrom(ctx)
	}
	result := "done by " + a.cfg.Agent
	steps := []struct {
		what string
		call func() error
	}{
		{"start", func() error { return job.Start(ctx) }},
		{"progress", func() error { return job.Progress(ctx, "half of it") }},
		{"complete", func() error { return job.Complete(ctx, result) }},
	}
	for _, step := range steps {
		if err := does.before(ctx, step.what, job, a.worker); err != nil {
			return err
		}
		if step.what == "complete" {
			if failed, err := a.fails(ctx, does, job); failed || err != nil {
				return err
			}
			if does.attack != "" {
				if result, err = a.attack(ctx, does.attack, does.victim, job); err != nil {
					return err
				}
			}
		}
		sent := ledger.Now()
		err := step.call()
		switch {
		case err == nil:
		case over(err):
			return nil
		default:
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if err := a.book.Said(sent, step.what, job.Task.GetId(), job.Attempt); err != nil {
			return err
		}
		if step.what != "complete" {
			time.Sleep(2 * ledger.TickEvery)
		}
	}
	return nil
}

// over tells that somebody else has the task now. If it is the life that is over, the next wait
// says so.
func over(err error) bool {
	for _, why := range []error{client.ErrLate, client.ErrRejoin, client.ErrConflict, client.ErrSuperseded} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}
