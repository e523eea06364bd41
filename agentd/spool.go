package agentd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vigil/agentd/shim"
	"vigil/rpc/client"
	"vigil/rpc/gen/vigilv1"
)

const (
	// lookAtSpools is the time between two looks into the spools of running agents.
	lookAtSpools = 3 * time.Second
	// maxSpooled bounds one file: a result of 256 KiB, every byte of it escaped.
	maxSpooled = 2 << 20
	// maxSpool bounds the files that one look delivers for a life.
	maxSpool = 100
	// maxListed is how many files of a folder are looked at for them.
	maxListed = 10_000
)

// EnvSpool names the folder in which an agent leaves what it could not deliver.
const EnvSpool = "VIGIL_SPOOL"

// Completion is a file NAME.json in the folder that EnvSpool names: the end of a
// task that its agent could not report because no server answered. Files are
// delivered in the order of their names, before the report of the agent's exit. A
// file appears by being renamed, all of it at once, and has mode 0600: it holds the
// token.
type Completion struct {
	Agent       string `json:"agent"`
	Incarnation uint64 `json:"incarnation"`
	Task        uint64 `json:"task"`
	Attempt     uint32 `json:"attempt"`
	Result      string `json:"result"`
	Token       string `json:"token"`
}

// spool is the folder of one life.
type spool struct {
	folder string // of the life
	intent intent
}

// spooled lists what is ready, in order.
func (o *outbox) spooled(s spool) []string {
	folder, err := os.Open(filepath.Join(s.folder, shim.SpoolFolder))
	if err != nil {
		return nil
	}
	defer folder.Close()
	// The folder is the agent's: of millions of files only so many are looked at, the rest when these are gone.
	entries, _ := folder.Readdirnames(maxListed)
	var names []string
	for _, name := range entries {
		if strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			path := filepath.Join(s.folder, shim.SpoolFolder, name)
			o.mu.Lock()
			if !o.passed[path] {
				names = append(names, path)
			}
			o.mu.Unlock()
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxSpool)]
}

// read reads one file. The folder belongs to the agent, which may be anybody: what
// is in it must not make this daemon read or wait for anything else.
func (s spool) read(path string) (c Completion, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return c, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || !ok || int(st.Uid) != s.intent.SpoolOwner {
		return c, errors.New("it is not a file of the agent's own")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSpooled+1))
	if err == nil && len(text) > maxSpooled {
		err = fmt.Errorf("it has more than %d bytes", maxSpooled)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && (c.Agent != s.intent.AgentName || c.Incarnation != s.intent.Incarnation) {
		err = fmt.Errorf("it speaks for incarnation %d of %s", c.Incarnation, c.Agent)
	}
	return c, err
}

// deliver brings the completions of a life to the cluster, in order, until one is
// neither taken nor refused.
func (o *outbox) deliver(ctx context.Context, s spool) error {
	o.spooling.Lock()
	defer o.spooling.Unlock()
	for _, path := range o.spooled(s) {
		c, err := s.read(path)
		if crowded(err) {
			return err
		}
		if err == nil {
			_, err = o.work.CompleteTask(client.Late(ctx), &vigilv1.CompleteTaskRequest{
				Task: c.Task, Attempt: c.Attempt, Result: c.Result,
				Speaker: &vigilv1.Speaker{Agent: c.Agent, Incarnation: c.Incarnation, Token: c.Token}})
			if err != nil && !refused(err) {
				return err
			}
			if err != nil && !final(err) {
				if lost := o.letters.keep(s, path, &c, err); lost != nil {
					o.log.Error("a result that was refused cannot be kept", "agent", c.Agent, "task", c.Task,
						"error", lost)
				}
			}
		}
		if err != nil {
			o.log.Warn("a completion that an agent left behind was not taken", "agent", s.intent.AgentName,
				"incarnation", s.intent.Incarnation, "task", c.Task, "error", err)
		} else {
			o.log.Info("a completion that an agent could not deliver was delivered", "agent", c.Agent, "task", c.Task)
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			o.log.Warn("a file of a spool cannot be removed: it is passed over while this agentd runs", "error", err)
			o.mu.Lock()
			o.passed[path] = true
			o.mu.Unlock()
		}
	}
	return nil
}

// crowded tells whether a file could not be read for reasons that pass: it must not
// be thrown away for them.
func crowded(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// forgive forgets the files that were passed over, with the life they are of.
func (o *outbox) forgive(s spool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.passed, func(path string, _ bool) bool {
		return filepath.Dir(path) == filepath.Join(s.folder, shim.SpoolFolder)
	})
}
