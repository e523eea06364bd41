package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// An entry that is to be refused (see Refuse) may have been applied by another server, of another version, which
// has told somebody that it is done. So raft does not run on a refusal before every other server has said that
// it has not applied it. See docs/decisions/cluster.md.

// ErrOtherRefusals says that another server has applied an entry that this one refuses, or the other way round.
var ErrOtherRefusals = errors.New("the servers do not refuse the same entries")

const (
	refusalLook = time.Second      // between two looks for the words of others
	refusalSay  = 15 * time.Second // between two lines that say who is waited for
)

// Answers to refusedQuestion.
const (
	wordBehind  = "behind"  // it has not applied the entry, and does not refuse it
	wordRefuses = "refuses" // it
	wordApplied = "applied" // it has applied the entry, or refuses another one at its place
)

// agreement is how this server comes to act on refusals.
type agreement struct{ *node }

// agree returns when every other server has said that it has not applied what this one refuses; ctx ends it.
// Requests of others are turned away meanwhile: what they hold could be applied.
func (a *agreement) agree(ctx context.Context) error {
	list := a.store.Refusals()
	reached := a.machine.state.LastIndex() // nothing is applied yet
	open := func(r logstore.Refusal) bool { return !r.Agreed && r.Index > reached }
	if !slices.ContainsFunc(list, open) {
		return nil
	}
	members, err := a.stored()
	if err != nil {
		return err
	}
	look := time.NewTicker(refusalLook)
	defer look.Stop()
	var said time.Time
	for i := range list {
		r := &list[i]
		for open(*r) {
			waits, err := a.ask(r, members)
			if err != nil {
				return err
			}
			if len(waits) == 0 {
				r.Agreed = true
				break
			}
			if time.Since(said) >= refusalSay {
				said = time.Now()
				a.log.Warn(fmt.Sprintf("this server waits: it is to refuse log entry %d, and has to hear first that %s "+
					"has not applied it: start %[2]s, with the same refusal; of a server that is gone for good say so with "+
					"`vigil server skip-entry --lost NAME`", r.Index, strings.Join(waits, ", ")))
			}
			if err := a.pause(ctx, look.C); err != nil {
				return err
			}
		}
	}
	if err := a.store.SetRefusals(list); err != nil {
		return err
	}
	a.log.Warn("every server has said that it has not applied what is refused: this server goes on", "refused", len(list))
	return nil
}

// pause turns away what comes in until it is time to look again.
func (a *agreement) pause(ctx context.Context, again <-chan time.Time) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-a.fatal:
			return err
		case rpc := <-a.trans.Consumer():
			if rpc.Reader != nil {
				_, _ = io.Copy(io.Discard, rpc.Reader) // else the connection is lost
			}
			rpc.Respond(nil, errAgrees)
		case <-again:
			return nil
		}
	}
}

var errAgrees = errors.New("this server asks the others first whether an entry is refused")

// stored gives the other members by what this server has on its disk.
func (a *agreement) stored() ([]raft.Server, error) {
	_, trans := raft.NewInmemTransport(raft.ServerAddress(a.cfg.ID))
	conf, err := raft.GetConfiguration(a.cfg.raftConfig(nil), a.machine, a.store, a.store, a.snaps, trans)
	if err != nil {
		return nil, fmt.Errorf("read the members: %w", err)
	}
	return slices.DeleteFunc(conf.Servers, func(s raft.Server) bool { return string(s.ID) == a.cfg.ID }), nil
}

// ask puts the question to all others and gives those that have not said no yet.
func (a *agreement) ask(r *logstore.Refusal, members []raft.Server) (waits []string, err error) {
	for _, s := range members {
		id := string(s.ID)
		if slices.Contains(r.Lost, id) {
			continue
		}
		word, _ := a.question(id, string(s.Address), // it is asked again
			fmt.Sprintf("%s %s %d %s", refusedQuestion, a.cfg.ID, r.Index, r.Sum))
		switch word {
		case wordBehind, wordRefuses:
		case wordApplied:
			return nil, fmt.Errorf("%w: server %s has applied log entry %d, which this one is to refuse: its writes may have "+
				"been acknowledged, so it must stay: take the refusal back with `vigil server skip-entry --index %d --undo`, "+
				"and run the version that %[2]s runs", ErrOtherRefusals, id, r.Index, r.Index)
		default:
			waits = append(waits, id)
		}
	}
	return waits, nil
}

// answer tells what this server has made of an entry; empty: it cannot tell.
func (a *agreement) answer(index, sum string) (word string) {
	at, err := strconv.ParseUint(index, 10, 64)
	if err != nil || a.machine.broken.Load() {
		return ""
	}
	a.Read(func(s *fsm.View) {
		switch refused := s.Refused(at); {
		case slices.ContainsFunc(refused, func(r noun.Refusal) bool { return r.Index == at && r.Sum == sum }):
			word = wordRefuses
		case s.LastIndex() >= at:
			word = wordApplied
		}
	})
	if word != "" || a.machine.broken.Load() {
		return word
	}
	for _, r := range a.store.Refusals() {
		if r.Index == at && r.Sum == sum {
			return wordRefuses
		}
	}
	return wordBehind
}

// tell writes down, as the first entry of a stint behind its LeaderEstablished, which entries this leader has
// refused.
func (a *agreement) tell(term, upTo uint64) error {
	var list []noun.Refusal
	var level uint32
	a.Read(func(s *fsm.View) { list, level = s.Refused(upTo), s.Level() })
	cmd := fsm.AgreeOnRefused{UpTo: upTo, Refused: list}
	if level < cmd.NeedsLevel() {
		return nil
	}
	data, err := record.Encode(&fsm.Entry{Stint: term, Requests: []fsm.Request{{Planned: true, Cmd: cmd}}})
	if err != nil {
		return err
	}
	a.propose(data) // not waited for: all that comes is behind it in the log
	return nil
}

// refusesAsLeader compares what the leader has refused, if the entry says that, with what this server has.
func (m *machine) refusesAsLeader(e *fsm.Entry) error {
	for i := range e.Requests {
		c, ok := e.Requests[i].Cmd.(fsm.AgreeOnRefused)
		if !ok || e.Stint != e.Term {
			continue
		}
		if own := m.state.Refused(c.UpTo); !slices.Equal(own, c.Refused) {
			return fmt.Errorf("apply log entry %d: %w: the cluster has refused %s, this server %s: "+
				"its state is another one. "+
				"If all others refuse it, stop this server and run `vigil server skip-entry` with the same entry, "+
				"or remove the server, empty its data directory and add it again; "+
				"if they have applied it, take this server's refusal back with --undo",
				e.Index, ErrOtherRefusals, listRefused(c.Refused), listRefused(own))
		}
	}
	return nil
}

func listRefused(list []noun.Refusal) string {
	if len(list) == 0 {
		return "no entry"
	}
	words := make([]string, len(list))
	for i, r := range list {
		words[i] = fmt.Sprintf("entry %d (%.16s)", r.Index, r.Sum)
	}
	return strings.Join(words, ", ")
}
