package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/fsm"
)

// ErrNotRefused says that an entry is none of those that may be refused.
var ErrNotRefused = errors.New("the entry is not refused")

// ErrAgreed says that a refusal cannot be taken back.
var ErrAgreed = errors.New("the servers have agreed on it")

// Refusing says what Refuse does.
type Refusing struct {
	Index uint64   // of the entry
	Sum   string   // how the SHA-256 of what it holds begins, in hexadecimal digits; at least SumDigits
	Lost  []string // servers that are gone for good, and cannot say whether they have applied it
	Undo  bool     // take the refusal back
	Do    bool     // else it only looks

	Logger hclog.Logger                // nil: none
	Defect func(*fsm.View, *fsm.Entry) // see Config.Defect
}

// SumDigits are how many digits of a sum are enough to name an entry.
const SumDigits = 16

// Refusal says what Refuse has found.
type Refusal struct {
	Server, Cluster string
	Index, Term     uint64
	Sum             string
	What            string // the commands of the entry, without what they say
	Why             string // it cannot be applied; empty when it is known already
	Known           bool   // it is refused here already
	Agreed          bool   // and the other servers have said that they have not applied it
}

// Refuse has the server in a directory, which does not run, pass over an entry of its log that it cannot apply.
// The entry stays where it is; the server reads a fsm.RefuseEntry in its place once every other server has said
// that it has not applied it. What a server can apply is not refused. Errors: ErrNotRefused,
// ErrNothingToRecover, ErrBrokenInvariant of an earlier entry, and those of the package logstore.
func Refuse(path string, how Refusing) (*Refusal, error) {
	if !logstore.Used(path) {
		return nil, fmt.Errorf("%w: %s holds no data of a server that was in a cluster", ErrNothingToRecover, path)
	}
	type result struct {
		done *Refusal
		err  error
	}
	failed, ended := make(chan error, 1), make(chan result, 1)
	go func() { // whoever meets a failure of the open log stays there
		done, err := refuseEntry(path, how, func(err error) { poke(failed, err) })
		ended <- result{done, err}
	}()
	select {
	case r := <-ended:
		return r.done, r.err
	case err := <-failed:
		return nil, err
	}
}

func refuseEntry(path string, how Refusing, fatal func(error)) (_ *Refusal, err error) {
	cfg := Config{Logger: how.Logger, Defect: how.Defect}
	cfg.setDefaults()
	dir, err := logstore.OpenDir(path, logstore.Disk{Limit: cfg.Timing.Disk, Fatal: fatal})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	found := &Refusal{Index: how.Index}
	if found.Cluster, found.Server, err = dir.Identity(); err != nil {
		return nil, err
	}
	cfg.ID = found.Server
	data, err := dir.Open(true, "", cfg.Logger)
	if err != nil {
		return nil, err
	}
	list, at := refusalAt(data.Log.Refusals(), how.Index)
	entry, err := named(data, how, found)
	if err != nil {
		return nil, err
	}
	if at < len(list) && list[at].Index == how.Index && list[at].Term == entry.Term {
		found.Known, found.Agreed = true, list[at].Agreed
	}
	switch {
	case how.Undo:
		return found, undo(data, how, found, list, at)
	case found.Known:
		list[at].Lost = how.Lost
	default:
		one, err := refusable(&cfg, data, entry, found)
		if err != nil {
			return nil, err
		}
		one.Lost = how.Lost
		if at < len(list) && list[at].Index == how.Index {
			list[at] = one // of a term that is over
		} else {
			list = append(list[:at], append([]logstore.Refusal{one}, list[at:]...)...)
		}
	}
	if !how.Do {
		return found, nil
	}
	return found, data.Log.SetRefusals(list)
}

// refusalAt finds the place of an entry among those that are refused.
func refusalAt(list []logstore.Refusal, index uint64) ([]logstore.Refusal, int) {
	for i := range list {
		if list[i].Index >= index {
			return list, i
		}
	}
	return list, len(list)
}

// named reads the entry that is meant, and makes sure that it is the one.
func named(data *logstore.Data, how Refusing, found *Refusal) (*raft.Log, error) {
	refused := func(format string, args ...any) error {
		return fmt.Errorf("refuse entry %d: %w: %s", how.Index, ErrNotRefused, fmt.Sprintf(format, args...))
	}
	last, err := data.Log.LastIndex()
	switch {
	case err != nil:
		return nil, err
	case how.Index <= data.Index:
		return nil, refused("the newest snapshot reaches entry %d, so this server has applied it", data.Index)
	case how.Index > last:
		return nil, refused("the log ends at entry %d", last)
	}
	entry, err := data.Log.Raw(how.Index)
	if err != nil {
		return nil, err
	}
	found.Term, found.Sum = entry.Term, logstore.Sum(&entry)
	if entry.Type != raft.LogCommand {
		return nil, refused("it has no commands: raft itself wrote it")
	}
	if len(how.Sum) < SumDigits || !strings.HasPrefix(found.Sum, strings.ToLower(how.Sum)) {
		return nil, refused("its SHA-256 is %s, not %q: name the entry at which the servers stop, with the sum that "+
			"they say", found.Sum, how.Sum)
	}
	return &entry, nil
}

// undo takes a refusal back, as long as nobody has acted on it.
func undo(data *logstore.Data, how Refusing, found *Refusal, list []logstore.Refusal, at int) error {
	switch {
	case !found.Known:
		return fmt.Errorf("refuse entry %d: %w here: there is nothing to take back", how.Index, ErrNotRefused)
	case found.Agreed:
		return fmt.Errorf("take back the refusal of entry %d: %w", how.Index, ErrAgreed)
	case !how.Do:
		return nil
	}
	return data.Log.SetRefusals(append(list[:at], list[at+1:]...))
}

// refusable applies the log up to the entry, in memory, and the entry itself: that must fail.
func refusable(cfg *Config, data *logstore.Data, l *raft.Log, found *Refusal) (one logstore.Refusal, err error) {
	m := &recovering{rec: &Recovery{}}
	if m.machine, err = recoveredMachine(cfg, data, m); err != nil {
		return one, err
	}
	if err := m.replay(data, l.Index-1); err != nil {
		return one, err
	}
	var e fsm.Entry
	if err := record.Decode(l.Data, &e); err != nil {
		return one, fmt.Errorf("refuse entry %d: %w", l.Index, err)
	}
	found.What = kinds(&e)
	if level := m.state.Level(); level < (fsm.RefuseEntry{}).NeedsLevel() {
		return one, fmt.Errorf("refuse entry %d: %w: the cluster is at feature level %d by then, and refusals begin "+
			"with %d", l.Index, ErrNotRefused, level, (fsm.RefuseEntry{}).NeedsLevel())
	}
	stand, wall := fsm.RefuseEntry{Sum: found.Sum, What: found.What}, e.Wall
	for i := range e.Requests {
		if r := &e.Requests[i]; r.Session != 0 {
			stand.Writes = append(stand.Writes, fsm.NumberedWrite{Session: r.Session, Seq: r.Seq})
		}
	}
	m.Apply(l)
	switch {
	case m.failed == nil:
		return one, fmt.Errorf("refuse entry %d: %w: this version applies it: just start the server", l.Index, ErrNotRefused)
	case !errors.Is(m.failed, ErrBrokenInvariant):
		return one, m.failed
	}
	found.Why = m.failed.Error()
	body, err := record.Encode(&fsm.Entry{Wall: wall, Requests: []fsm.Request{{Cmd: stand}}})
	return logstore.Refusal{Index: l.Index, Term: l.Term, Sum: found.Sum, Data: body}, err
}
