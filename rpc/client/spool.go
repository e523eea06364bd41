package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// EnvSpool is the variable that names the folder in which an agent of agentd leaves a result that no server has taken:
// agentd delivers it before it reports that the life has ended.
const EnvSpool = "VIGIL_SPOOL"

// spooled is a file of that folder.
type spooled struct {
	Agent       string `json:"agent"`
	Incarnation uint64 `json:"incarnation"`
	Task        uint64 `json:"task"`
	Attempt     uint32 `json:"attempt"`
	Result      string `json:"result"`
	Token       string `json:"token"`
	Traceparent string `json:"traceparent,omitempty"`
}

// leaveBehind leaves the result of a job with agentd; it tells whether it did.
func (w *Worker) leaveBehind(j *Job, result string) bool {
	if w.spool == "" || w.speaker.GetToken() == "" {
		return false
	}
	text, err := json.Marshal(spooled{Agent: w.Agent(), Incarnation: w.Incarnation(), Task: j.Task.GetId(),
		Attempt: j.Attempt, Result: result, Token: w.speaker.GetToken(), Traceparent: j.Traceparent()})
	if err != nil {
		return false
	}
	name := fmt.Sprintf("%020d-%d-%d", time.Now().UnixNano(), j.Task.GetId(), j.Attempt)
	if err := put(w.spool, name, append(text, '\n')); err != nil {
		return false // the task is given back, as without a folder
	}
	w.left = true
	return true
}

// put makes a file of a spool, all of it at once; when it returns it is on disk.
func put(folder, name string, text []byte) error {
	temporary := filepath.Join(folder, "."+name)
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
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
