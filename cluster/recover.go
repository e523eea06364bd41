package cluster

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// ErrNothingToRecover says that a data directory holds no member of a cluster.
var ErrNothingToRecover = errors.New("there is nothing to recover")

// Recovery says what is made of the data of one server when it alone goes on as its cluster.
type Recovery struct {
	Server   string // whose data it is
	RaftAddr string // where it was reached by the others
	Lost     []Peer // the members that are given up, sorted by id
	// Was is the id of the cluster, Cluster the one that it has afterwards: the servers that are given
	// up know the old one and cannot take part any more.
	Was, Cluster string

	// Index is the last entry of this server's log, and Term the term of it. What other servers
	// had behind it is lost; the last entries may be ones that were never acknowledged.
	Index, Term uint64
	State       *fsm.State // what goes on, as it is before the recovery
}

// Recovering says what Recover does.
type Recovering struct {
	Do       bool         // else it only looks
	RaftAddr string       // where the others will reach the server; empty: where they did
	Cluster  string       // the id that the cluster will have; empty: one that follows from its old id
	Logger   hclog.Logger // nil: none
}

// Recover reads the data of a server that does not run and tells what a recovery would make of
// it; with Do it is done: the server is the only member of a cluster of a new id and a greater
// epoch, which starts nothing until every life that it does not know of has frozen by itself
// (laws L6 and L7, as after the restore of a backup). It is for the loss of a majority for good:
// what only the lost servers had is lost. When it is interrupted it can be repeated.
// Errors: ErrNothingToRecover and those of the package logstore.
func Recover(path string, how Recovering) (*Recovery, error) {
	if !logstore.Used(path) { // before anything is made there
		return nil, fmt.Errorf("%w: %s holds no data of a server that was in a cluster", ErrNothingToRecover, path)
	}
	cfg := Config{Logger: how.Logger}
	cfg.setDefaults()
	fatal := make(chan error, 1)
	dir, err := logstore.OpenDir(path, logstore.Disk{Limit: cfg.Timing.Disk, Fatal: func(err error) {
		select {
		case fatal <- err:
		default:
		}
	}})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	was, server, err := dir.Identity()
	if err != nil {
		return nil, err
	}
	data, err := dir.Open(true, "", cfg.Logger)
	if err != nil {
		return nil, err
	}
	cfg.ID = server
	rec := &Recovery{Server: server, Was: was}
	m := &recovering{rec: rec, disk: func() error {
		select {
		case err := <-fatal:
			return err
		default:
			return nil
		}
	}}
	if m.machine, err = recoveredMachine(&cfg, data, m); err != nil {
		return nil, err
	}
	return rec, m.recover(&cfg, dir, data, how)
}

func recoveredMachine(cfg *Config, data *logstore.Data, m *recovering) (*machine, error) {
	met, err := newMetrics(nil)
	if err != nil {
		return nil, err
	}
	return newMachine(cfg, data.State, met, func(err error) { m.failed = errors.Join(m.failed, err) }), nil
}

// recovering is the state machine of a recovery: it replays the log, and what it gives as a
// snapshot is the state that goes on.
type recovering struct {
	*machine
	rec    *Recovery
	failed error        // of an entry
	disk   func() error // why the disk was given up; nil: it was not
}

// recover replays the log and writes the snapshot with which the server goes on.
func (m *recovering) recover(cfg *Config, dir *logstore.Dir, data *logstore.Data, how Recovering) error {
	rec := m.rec
	_, trans := raft.NewInmemTransport(raft.ServerAddress(cfg.ID))
	conf := cfg.raftConfig(nil)
	members, err := raft.GetConfiguration(conf, m, data.Log, data.Log, data.Snapshots, trans)
	if err != nil {
		return fmt.Errorf("read the members: %w", err)
	}
	for _, s := range members.Servers {
		if string(s.ID) == rec.Server {
			rec.RaftAddr = string(s.Address)
		} else {
			rec.Lost = append(rec.Lost, Peer{ID: string(s.ID), RaftAddr: string(s.Address)})
		}
	}
	if rec.RaftAddr == "" {
		return fmt.Errorf("%w: server %s is no member of its cluster by its own data: recover another one",
			ErrNothingToRecover, rec.Server)
	}
	slices.SortFunc(rec.Lost, func(a, b Peer) int { return strings.Compare(a.ID, b.ID) })
	last, err := data.Log.LastIndex()
	if err != nil {
		return err
	}
	if err := m.replay(data, last); err != nil {
		return err
	}
	rec.State = m.state
	if rec.Cluster = how.Cluster; rec.Cluster == "" {
		rec.Cluster = fmt.Sprintf("%s%s%d", lineage(rec.Was), recoveredMark, m.state.Epoch()+1)
	}
	if !how.Do {
		return nil
	}
	if how.RaftAddr != "" {
		rec.RaftAddr = how.RaftAddr
	}
	// The identity goes first: with the old one it must never run as a cluster of its own.
	if err := dir.SetIdentity(rec.Cluster, rec.Server); err != nil {
		return err
	}
	alone := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(rec.Server),
		Address: raft.ServerAddress(rec.RaftAddr)}}}
	m.goOn()
	err = raft.RecoverCluster(conf, passive{m}, data.Log, data.Log, data.Snapshots, trans, alone)
	return errors.Join(err, m.disk())
}

// replay applies what the log holds behind the snapshot, up to the entry given.
func (m *recovering) replay(data *logstore.Data, last uint64) error {
	m.rec.Index, m.rec.Term = data.Index, data.Term
	for i := data.Index + 1; i <= last; i++ {
		if err := m.replayOne(data, i); err != nil {
			return err
		}
	}
	return nil
}

// replayOne applies one entry.
func (m *recovering) replayOne(data *logstore.Data, i uint64) error {
	var entry raft.Log
	if err := data.Log.GetLog(i, &entry); err != nil {
		return fmt.Errorf("read log entry %d: %w", i, err)
	}
	m.rec.Index, m.rec.Term = entry.Index, entry.Term
	if entry.Type == raft.LogCommand {
		m.Apply(&entry)
	}
	return m.failed
}

// goOn makes the state one that takes the place of what the lost servers may have had, with one
// member. They may have handed out more than this server knows of.
func (m *recovering) goOn() {
	var own []noun.Server
	for _, s := range m.state.Servers() {
		if s.ID == m.rec.Server {
			own = append(own, s)
		}
	}
	supersede(m.state, &fsm.New().View, own)
}

// passive has replayed everything already: raft.RecoverCluster only takes its snapshot.
type passive struct{ *recovering }

func (passive) Apply(*raft.Log) any { return nil }

func (passive) Restore(rc io.ReadCloser) error { return rc.Close() }
