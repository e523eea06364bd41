package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// restoreBound is how long raft may take to begin installing a backup.
const restoreBound = 30 * time.Second

// Snapshot writes a backup of the state, as of a moment after the call, in the
// checksummed format that Restore reads. Leader only.
func (r *Replica) Snapshot(ctx context.Context, w io.Writer) error {
	if err := r.Barrier(ctx); err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 256<<10)
	if err := r.Copy().Dump(buf); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}

// Restore replaces the state of the whole cluster by a backup. The stream is read
// and verified to its end before anything changes. It ends the stint: writes that
// are in flight have an unknown outcome. The installed state has a greater epoch
// than both the backup and the state it replaces, and goes on numbering above both
// (fsm.State.Outnumber), so that no number is used twice: what was said to the
// replaced state is refused. It starts nothing for one TTL, the longest of
// any role, and confirms no life for as long: shims freeze their agents for a moment. The members of the
// cluster stay as they are. Leader only.
//
// A new cluster knows nothing of what the lost one had handed out since the backup.
// There the new epoch tells the lives of agents apart, unless the lost cluster had
// itself been restored since, and tasks and sessions leave a gap of a million numbers. A backup with
// identities of another cluster needs a word on what becomes of its people: see fsm.Others.
func (r *Replica) Restore(ctx context.Context, in io.Reader, others fsm.Others) error {
	if _, err := r.leading(); err != nil {
		return err
	}
	// It may come over a slow line for an hour, in which servers that are lost must be replaced: so it is read first.
	state, err := fsm.Load(bufio.NewReaderSize(in, 256<<10))
	if err != nil {
		return refuse(noun.Invalid, "the backup cannot be read: %v", err)
	}
	if level := state.Level(); level > r.levelBegun() { // servers that do not read it would end, this one too
		if err := r.levels.legible(ctx, &fsm.Request{Cmd: fsm.RaiseLevel{Level: level}}); err != nil {
			return fmt.Errorf("restore backup: %w", err)
		}
	}

	if err := r.enterMembers(ctx); err != nil {
		return fmt.Errorf("restore backup: %w", err)
	}
	defer r.leaveMembers()
	rf, err := r.leading()
	if err != nil {
		return err
	}
	stint, _ := r.stints.current()
	if stint == nil {
		return noun.ErrNotLeader
	}
	var no error
	r.Read(func(s *fsm.View) { no = s.Accepts(&state.View, others) })
	if no != nil {
		return refuse(noun.Conflict, "%v", no)
	}

	// The stint ends, what is in flight settles, and a new one begins on the
	// restored state, unless leadership is lost meanwhile. Only then is it known what
	// the state that is replaced has handed out: nothing is written any more.
	r.endStint(noun.ErrNotLeader)
	if err := r.batch.drained(ctx); err != nil {
		r.reopen()
		return fmt.Errorf("restore backup: wait for writes in flight: %w", err)
	}
	r.prepare(state, others)
	f, size, err := r.spool(state.Copy())
	if err != nil {
		r.reopen()
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	meta := &raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Index: state.LastIndex(), Term: 1, Size: size}
	if now, _ := r.stints.current(); now != nil || rf.CurrentTerm() != stint.term {
		r.reopen() // more may have been handed out meanwhile, perhaps by another leader
		return noun.ErrNotLeader
	}
	err = rf.Restore(meta, f, restoreBound)
	r.reopen()
	if err != nil {
		return fmt.Errorf("restore backup: %w", fromRaft(err))
	}
	r.log.Warn("backup restored", "index", state.LastIndex(), "epoch", state.Epoch(), "bytes", size)
	return r.awaitStint(ctx)
}

// prepare turns a backup into what is installed: numbers and epoch raised, starts
// held, members as they are now.
func (r *Replica) prepare(backup *fsm.State, others fsm.Others) {
	r.Read(func(s *fsm.View) {
		people := s.Newcomers(&backup.View, others)
		supersede(backup, s, s.Servers())
		for _, u := range people {
			apply(backup, fsm.PutUser{Name: u.Name, Bindings: u.Bindings, By: "the backup"})
		}
	})
}

// apply applies a command to a state that no log is behind.
func apply(state *fsm.State, cmd fsm.Command) {
	state.Apply(&fsm.Entry{Index: state.LastIndex(), Requests: []fsm.Request{{Cmd: cmd}}})
}

// supersede makes a state take the place of another one, with these servers as its members: its
// epoch is above both, it hands out no number that the other one has, and it holds starts.
func supersede(state *fsm.State, replaced *fsm.View, servers []noun.Server) {
	epoch := replaced.Epoch()
	state.Outnumber(replaced)
	for raised := false; !raised || state.Epoch() <= epoch; raised = true {
		apply(state, fsm.RaiseEpoch{Hold: state.Settings().TTL})
	}
	for _, s := range slices.Clone(state.Servers()) {
		if !slices.ContainsFunc(servers, func(o noun.Server) bool { return o.ID == s.ID }) {
			apply(state, fsm.DropServer{ID: s.ID})
		}
	}
	for _, s := range slices.Clone(servers) {
		apply(state, fsm.PutServer(s))
	}
}

// spool writes the image to a file, since raft wants to know its size first.
func (r *Replica) spool(img *fsm.Image) (f *os.File, size int64, err error) {
	f, err = os.CreateTemp(r.cfg.DataDir, logstore.SpoolPattern)
	if err != nil {
		return nil, 0, fmt.Errorf("spool backup: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(img.Dump(w), w.Flush())
	if err == nil {
		size, err = f.Seek(0, io.SeekCurrent)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, 0, fmt.Errorf("spool backup: %w", err)
	}
	return f, size, nil
}

// reopen begins a new stint if raft still leads; else its signals will.
func (r *Replica) reopen() {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// awaitStint waits until a new stint of this server is open.
func (r *Replica) awaitStint(ctx context.Context) error {
	for {
		st, changed := r.stints.current()
		if st != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("restore backup: wait for the new stint: %w", ctx.Err())
		case <-changed:
		case <-time.After(r.cfg.Timing.Heartbeat):
		}
		if r.raft.Load().State() != raft.Leader {
			return nil // installed; another server leads
		}
	}
}
