package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// EnvSpool is the variable that names the folder in which an agent of agentd leaves a result that no server has taken:
// agentd delivers it before it reports that the life has ended.
const EnvSpool = "VIGIL_SPOOL"

// Spooled is one file NAME.json of that folder: the completion of a task that its agent could not report because no
// server answered. Files are delivered in the order of their names, before the report of the agent's exit. A file
// appears by being renamed, all of it at once, and has mode 0600: it holds the token.
type Spooled struct {
	Agent       string `json:"agent"`
	Incarnation uint64 `json:"incarnation"`
	Task        uint64 `json:"task"`
	Attempt     uint32 `json:"attempt"`
	Result      string `json:"result"`
	Token       string `json:"token"`
	// Traceparent is that of the attempt, for log lines; empty: nobody traces it.
	Traceparent string `json:"traceparent,omitempty"`
}

// Put leaves it in a folder under a name that sorts by at. When it returns the file is on disk: the agent believes
// that its result is safe, also from a reboot.
func (s Spooled) Put(folder string, at time.Time) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("leave result with agentd: %w", err)
		}
	}()
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%020d-%d-%d", at.UnixNano(), s.Task, s.Attempt)
	temporary := filepath.Join(folder, "."+name)
	if err := writeSynced(temporary, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(folder, name+".json")); err != nil {
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// IsSpooled tells whether the result of an attempt still lies in a folder (EnvSpool): by its name, since whoever asks
// may not be able to read what another process of the life has written. "" is no folder, in which nothing lies.
func IsSpooled(folder string, task uint64, attempt uint32) bool {
	if folder == "" {
		return false
	}
	end := fmt.Sprintf("-%d-%d.json", task, attempt)
	files, _ := os.ReadDir(folder) // nothing is left in one that cannot be read
	return slices.ContainsFunc(files, func(f os.DirEntry) bool {
		return !strings.HasPrefix(f.Name(), ".") && strings.HasSuffix(f.Name(), end)
	})
}

// spoolAgain is how long a wait passes over an attempt whose result is left with agentd, until it looks again.
const spoolAgain = 500 * time.Millisecond

// isDone tells whether the result of what was claimed is left with agentd, which has not delivered it yet: nobody may
// begin it anew. It waits a moment then.
func (w *Worker) isDone(ctx context.Context, job *Job) bool {
	if !IsSpooled(w.spool, job.Task.GetId(), job.Attempt) {
		return false
	}
	w.outside() // the next claim begins with a join, which tells what is held then
	timer := time.NewTimer(spoolAgain)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return true
}

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

// leaveBehind leaves the result of a job with agentd; it tells whether it did. If not, the task is given back, as
// without a folder.
func (w *Worker) leaveBehind(j *Job, result string) bool {
	if w.spool == "" || w.speaker.GetToken() == "" {
		return false
	}
	one := Spooled{Agent: w.Agent(), Incarnation: w.Incarnation(), Task: j.Task.GetId(), Attempt: j.Attempt,
		Result: result, Token: w.speaker.GetToken(), Traceparent: j.Traceparent()}
	w.left = one.Put(w.spool, time.Now()) == nil
	return w.left
}
