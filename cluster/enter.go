package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"vigil/fsm/noun"
)

// A server whose data is empty is new, or it has lost what it had promised. Raft takes
// it for new and lets it vote at once: with its old votes forgotten and an empty log it
// could help to elect a leader that lacks acknowledged writes. So raft does not run on
// empty data before others have said that nothing was promised:
//
//   - Founders tell each other the marks of their data, all to all, and keep them: only
//     then does one take part. Whoever comes later with another mark has lost its data.
//   - A server that waits to be added asks the leader that speaks to it. A member that
//     has no vote got there by being added, after all that it was as a voter was undone.
const (
	enterAgain = 100 * time.Millisecond // between two times of asking
	enterSay   = 5 * time.Second        // between two lines of the log about waiting

	// A founder's mark of its data, and at the others the mark of a founder.
	ownMark = "vigil-mark"
	markOf  = "vigil-mark-of/"
)

var errWaits = errors.New("this server has no data and is not taken in yet")

// enter returns when this server may take part; ctx ends it.
func (r *Replica) enter(ctx context.Context) error {
	asks := r.cfg.Backend == nil || r.cfg.Backend.Question != nil
	if r.founding.Load() {
		if err := r.found(ctx, asks); err != nil {
			return err
		}
		r.founding.Store(false)
	}
	if !asks || !r.fresh.Load() {
		return nil
	}
	return r.awaitSeat(ctx)
}

// found writes the first configuration as soon as all other founders have said that
// this one is new. When one says that it is no member any more, it has to be added.
func (r *Replica) found(ctx context.Context, asks bool) error {
	var said time.Time
	for {
		words := map[string][]string{}
		if asks {
			if err := r.awaitDisk(func() (err error) { words, err = r.askFounders(); return err }); err != nil {
				return err
			}
		}
		switch {
		case len(words[wordKnown]) > 0:
			return r.dataLost("server " + words[wordKnown][0] + " knows it as a member")
		case len(words[wordOutside]) > 0:
			r.log.Warn("this server has no data and its cluster runs without it: it waits to be added",
				"says", words[wordOutside][0], "run", fmt.Sprintf("vigil server add %s %s", r.cfg.ID, r.cfg.RaftAddr))
			r.fresh.Store(true)
			return nil
		case !asks || len(words[wordNew]) == len(r.cfg.Peers)-1:
			return r.awaitDisk(r.bootstrap)
		}
		if time.Since(said) > enterSay {
			said = time.Now()
			r.log.Info("waits for all servers of the new cluster", "answered", words[wordNew], "of", len(r.cfg.Peers)-1)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-r.fatal:
			return err
		case <-time.After(enterAgain):
		}
	}
}

func (r *Replica) dataLost(why string) error {
	return fmt.Errorf("%w: %s: run 'vigil server remove %s' at another server, then start this one "+
		"again and add it", ErrDataLost, why, r.cfg.ID)
}

// askFounders gives who of the other founders said which word. The marks of those to
// whom this server is new are kept.
func (r *Replica) askFounders() (map[string][]string, error) {
	mark, err := r.mark(ownMark, "")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	words := map[string][]string{}
	for _, p := range r.cfg.Peers {
		if p.ID == r.cfg.ID {
			continue
		}
		wg.Go(func() {
			answer, err := r.question(p.RaftAddr, markQuestion+" "+r.cfg.ID+" "+mark)
			if err != nil {
				return
			}
			word, its, _ := strings.Cut(answer, " ")
			if word == wordNew {
				if _, err := r.mark(markOf+p.ID, its); err != nil {
					return
				}
			}
			mu.Lock()
			words[word] = append(words[word], p.ID)
			mu.Unlock()
		})
	}
	wg.Wait()
	return words, nil
}

// mark keeps a mark; an empty one stands for the one that is kept, or for a new one.
func (r *Replica) mark(key, mark string) (string, error) {
	r.learning.Lock()
	defer r.learning.Unlock()
	b, err := r.readMark(key)
	if err != nil || len(b) > 0 && (mark == "" || mark == string(b)) {
		return string(b), err
	}
	if mark == "" {
		mark = rand.Text()
	}
	return mark, r.store.Set([]byte(key), []byte(mark))
}

// readMark is called with r.learning held.
func (r *Replica) readMark(key string) ([]byte, error) {
	if r.cfg.Backend == nil && r.dir == nil {
		return nil, noun.ErrStopping
	}
	b, err := r.store.Get([]byte(key))
	if err != nil && err.Error() == "not found" {
		err = nil
	}
	return b, err
}

// answerMark answers a founder whose data is empty and has that mark: a word, and this
// server's own mark when the other one is new.
func (r *Replica) answerMark(id, mark string) string {
	servers := r.configuration()
	waits := r.founding.Load() // nobody has counted on what the other was before
	switch {
	case !waits && len(servers) == 0:
		return wordLater
	case !waits && !member(servers, id):
		return wordOutside
	}
	if !waits {
		r.learning.Lock()
		kept, err := r.readMark(markOf + id)
		r.learning.Unlock()
		switch {
		case err != nil:
			return wordLater
		case string(kept) == mark:
		case len(kept) > 0 || r.knows(id):
			return wordKnown
		case r.raft.Load().AppliedIndex() < r.raft.Load().LastIndex(): // the state may come to know it
			return wordLater
		}
	}
	_, err := r.mark(markOf+id, mark)
	own, err2 := r.mark(ownMark, "")
	if err != nil || err2 != nil {
		return wordLater
	}
	return wordNew + " " + own
}

func member(servers []raft.Server, id string) bool {
	for _, s := range servers {
		if string(s.ID) == id {
			return true
		}
	}
	return false
}

// awaitSeat returns when a leader says that this server was added. Until then nobody
// gets a vote or an acknowledgement from it.
func (r *Replica) awaitSeat(ctx context.Context) error {
	warned := false
	for {
		var rpc raft.RPC
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-r.fatal:
			return err
		case rpc = <-r.trans.Consumer():
		}
		word := ""
		switch cmd := rpc.Command.(type) {
		case *raft.AppendEntriesRequest:
			word = r.askSeat(cmd.Addr)
		case *raft.InstallSnapshotRequest:
			word = r.askSeat(cmd.Addr)
			_, _ = io.Copy(io.Discard, rpc.Reader) // else the connection is lost
		case *raft.RequestVoteRequest, *raft.RequestPreVoteRequest:
			if !warned {
				r.log.Warn("this server is asked for its vote, but it has no data: it has none before " +
					"it is removed and added again")
			}
			warned = true
		}
		rpc.Respond(nil, errWaits)
		switch word {
		case wordNonvoter:
			return nil
		case wordVoter:
			return r.dataLost("its cluster counts on its vote")
		}
	}
}

// askSeat asks a leader what this server is in its cluster.
func (r *Replica) askSeat(leader []byte) string {
	addr := string(r.trans.DecodePeer(leader))
	word, err := r.question(addr, seatQuestion+" "+r.cfg.ID)
	if !errors.Is(err, io.EOF) {
		return word
	}
	// A leader of an older version hangs up. It knows less: who has announced itself.
	switch word, _ = r.question(addr, question+" "+r.cfg.ID); word {
	case wordKnown:
		return wordVoter
	case wordUnknown:
		return wordNonvoter
	}
	return ""
}

// answerSeat tells what a server is in the newest configuration, when this server leads.
func (r *Replica) answerSeat(id string) string {
	rf := r.raft.Load()
	if rf == nil || rf.State() != raft.Leader || rf.VerifyLeader().Error() != nil {
		return wordLater
	}
	for _, s := range r.configuration() {
		switch {
		case string(s.ID) != id:
		case s.Suffrage == raft.Voter:
			return wordVoter
		default:
			return wordNonvoter
		}
	}
	return wordLater
}

// Answer answers a question of another server that came on the port of the log, given
// as one line: a word and its operands. It is empty when the line is no question.
func (r *Replica) Answer(line string) string {
	f := strings.Fields(line)
	switch {
	case len(f) == 2 && f[0] == question:
		voter := false
		for _, s := range r.configuration() {
			voter = voter || string(s.ID) == f[1] && s.Suffrage == raft.Voter
		}
		if voter || r.knows(f[1]) {
			return wordKnown
		}
		return wordUnknown
	case len(f) == 2 && f[0] == reachQuestion:
		return string(r.Reaches(f[1]))
	case len(f) == 2 && f[0] == seatQuestion:
		return r.answerSeat(f[1])
	case len(f) == 3 && f[0] == markQuestion:
		return r.answerMark(f[1], f[2])
	}
	return ""
}

// question puts a question to the server at that address. The error is io.EOF when it
// hung up without an answer, as one does that does not know the question.
func (r *Replica) question(addr, line string) (string, error) {
	if b := r.cfg.Backend; b != nil {
		return b.Question(addr, line), nil
	}
	return ask(addr, line)
}
