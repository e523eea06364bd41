package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"vigil/agentd/results"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/client"
)

// leaveBehind leaves a completion that no server has taken with agentd, where the
// agent has one; err is why it was not taken. In every other case it gives err back.
func (w *word) leaveBehind(result string, err error) error {
	spool := w.Getenv(results.Env)
	if spool == "" || !Unheard(err) {
		return err
	}
	l, e := w.who.Current(w.App)
	if e != nil || l.Token == "" {
		return err // it is not the agent that agentd has started
	}
	if w.task != 0 && w.task != l.Task {
		l.Task, l.Attempt, l.Traceparent = w.task, 0, ""
	}
	if w.attempt != 0 {
		l.Attempt = w.attempt
	}
	if l.Task == 0 || l.Attempt == 0 {
		return err // only a server could tell which task it holds
	}
	c := results.Completion{Agent: l.Agent, Incarnation: l.Incarnation, Task: l.Task, Attempt: l.Attempt,
		Result: result, Token: l.Token, Traceparent: l.Traceparent}
	if e := PutIntoSpool(w.App, spool, c); e != nil {
		return errors.Join(err, e)
	}
	w.finished(l)
	return w.Done(map[string]any{"task": l.Task, "attempt": l.Attempt, "state": "SPOOLED"},
		"no server answers: the result of task %d is left with agentd, which delivers it", l.Task)
}

// Unheard tells whether an error leaves open what the cluster thinks.
func Unheard(err error) bool {
	switch cli.ExitCode(err) {
	case cli.ExitNoLeader:
		return true
	case cli.ExitTimeout:
		return !errors.Is(err, client.ErrNoTask)
	}
	return false
}

// PutIntoSpool writes the file, all of it at once. Its name sorts by time.
func PutIntoSpool(a *cli.App, folder string, c results.Completion) error {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("leave result with agentd: %w", err)
	}
	name := fmt.Sprintf("%020d-%d-%d", a.Now().UnixNano(), c.Task, c.Attempt)
	temporary := filepath.Join(folder, "."+name)
	err = writeSynced(temporary, append(text, '\n'))
	if err == nil {
		err = os.Rename(temporary, filepath.Join(folder, name+".json"))
	}
	if err == nil {
		err = syncFolder(folder)
	}
	if err != nil {
		return fmt.Errorf("leave result with agentd: %w", err)
	}
	return nil
}

// writeSynced writes a new file and returns when it is on disk: the agent believes
// that its result is safe, also from a reboot.
func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
