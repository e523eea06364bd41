package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"vigil/cmd/vigil/bench/ledger"
	"vigil/rpc/gen/vigilv1"
)

// resumePrefix begins the resume value of a life that remembers; its number follows.
const resumePrefix = "life-"

// remember notes which life this one goes on from ("resumed" with its number in
// place of a task, 0: it begins afresh), and leaves word for the next one.
func (a *agent) remember(ctx context.Context) error {
	if !a.does.remember {
		return nil
	}
	var from uint64
	if text := os.Getenv("VIGIL_RESUME"); text != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, resumePrefix), 10, 64)
		if err != nil {
			return fmt.Errorf("VIGIL_RESUME is %q: %w", text, err)
		}
		from = n
	}
	sent := ledger.Now()
	_, err := vigilv1.NewWorkClient(a.client).SetResume(ctx, &vigilv1.SetResumeRequest{
		Speaker: &vigilv1.Speaker{Agent: a.cfg.Agent, Incarnation: a.cfg.Incarnation, Token: a.cfg.Token},
		Resume:  resumePrefix + strconv.FormatUint(a.cfg.Incarnation, 10)})
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	return a.book.Said(sent, "resumed", from, 0)
}
