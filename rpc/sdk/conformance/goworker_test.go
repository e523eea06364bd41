package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vigil/rpc/client"
)

// goWorker makes this program the worker in Go.
const goWorker = "VIGIL_CONFORMANCE_GO"

// retryFor tells a worker for how many seconds it repeats a call.
const retryFor = "VIGIL_CONFORMANCE_RETRY"

// sideBySide is how many stories run at once: they wait more than they work.
const sideBySide = "8"

func mainOrWorker(m *testing.M) {
	if os.Getenv(goWorker) == "" {
		flag.Parse()
		if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) { // its default
			_ = flag.Set("test.parallel", sideBySide) // a number
		}
		os.Exit(m.Run())
	}
	say := func(l map[string]any) {
		text, _ := json.Marshal(l) // words and numbers
		fmt.Println(string(text))
	}
	err := work(say)
	say(map[string]any{"did": "end", "code": codeOf(err), "text": fmt.Sprint(err)})
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return client.Code(err)
}

func work(say func(map[string]any)) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	addrs := strings.Split(os.Getenv("VIGIL_ADDR"), ",")
	cfg := client.WorkerConfig{Agent: "web/builder.*"}
	if socket := os.Getenv(client.EnvSocket); socket != "" {
		addrs = []string{"unix:" + socket}
		var err error
		if cfg, err = client.WorkerFromEnv(os.Getenv); err != nil {
			return err
		}
	}
	repeat, err := time.ParseDuration(cmp.Or(os.Getenv(retryFor), "300") + "s")
	if err != nil {
		return err
	}
	c, err := client.Open(client.Config{Addrs: addrs, Attempt: 500 * time.Millisecond, Silence: 200 * time.Millisecond,
		RetryFor: repeat})
	if err != nil {
		return err
	}
	defer c.Close()
	return client.Work(ctx, c, cfg, func(ctx context.Context, job *client.Job) (string, error) {
		say(map[string]any{"did": "handle", "task": job.Task.GetId()})
		switch job.Task.GetText() {
		case "progress":
			return "done", job.Progress(ctx, "half of it")
		case "long":
			<-time.After(1500 * time.Millisecond)
			return "done", job.Progress(ctx, "half of it")
		case "hold":
			<-ctx.Done()
			say(map[string]any{"did": "told", "task": job.Task.GetId(), "cause": codeOf(context.Cause(ctx))})
			return "", ctx.Err()
		case "stop":
			<-ctx.Done()
			return "", fmt.Errorf("the tool was interrupted: %w", client.ErrRetry)
		case "retry":
			return "", job.FailUntil(ctx, "it is not there yet", 3*time.Second)
		case "fail":
			return "", errors.New("no such file")
		case "handoff":
			_, err := job.Handoff(ctx, "built", client.Next{Role: "tester", Title: "look at it",
				Text: "look at it"})
			if err != nil {
				err = fmt.Errorf("what it returned was refused: %w", err)
			}
			return "", err
		}
		return "done", nil
	})
}
