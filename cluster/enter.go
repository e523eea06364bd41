package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
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

// entrance is how a server without data comes into its cluster.
type entrance struct {
	*node
	id       *identity
	founding atomic.Bool // it has no data and is a founder
}

// enter returns when this server may take part; ctx ends it.
func (e *entrance) enter(ctx context.Context) error {
	asks := e.cfg.ported() || e.cfg.Backend.Question != nil
	if e.founding.Load() {
		if err := e.found(ctx, asks); err != nil {
			return err
		}
		e.founding.Store(false)
	}
	if !asks || !e.id.fresh.Load() {
		return nil
	}
	return e.awaitSeat(ctx)
}

// found writes the first configuration as soon as all other founders have said that
// this one is new. When one says that it is no member any more, it has to be added.
func (e *entrance) found(ctx context.Context, asks bool) error {
	var said time.Time
	for {
		words := map[string][]string{}
		if asks {
			if err := e.awaitDisk(func() (err error) { words, err = e.askFounders(); return err }); err != nil {
				return err
			}
		}
		switch {
		case len(words[wordKnown]) > 0:
			return e.dataLost("server " + words[wordKnown][0] + " knows it as a member")
		case len(words[wordOutside]) > 0:
			e.log.Warn("this server has no data and its cluster runs without it: it waits to be added",
				"says", words[wordOutside][0], "run", fmt.Sprintf("vigil server add %s %s", e.cfg.ID, e.cfg.RaftAddr))
			e.id.fresh.Store(true)
			return nil
		case !asks || len(words[wordNew]) == len(e.cfg.Peers)-1:
			return e.awaitDisk(e.bootstrap)
		}
		if time.Since(said) > enterSay {
			said = time.Now()
			e.log.Info("waits for all servers of the new cluster", "answered", words[wordNew], "of", len(e.cfg.Peers)-1)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-e.fatal:
			return err
		case <-time.After(enterAgain):
		}
	}
}

func (e *entrance) dataLost(why string) error {
	return fmt.Errorf("%w: %s: run 'vigil server remove %s' at another server, then start this one "+
		"again and add it", ErrDataLost, why, e.cfg.ID)
}

// askFounders gives who of the other founders said which word. The marks of those to
// whom this server is new are kept.
func (e *entrance) askFounders() (map[string][]string, error) {
	mark, err := e.id.mark(ownMark, "")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	words := map[string][]string{}
	for _, p := range e.cfg.Peers {
		if p.ID == e.cfg.ID {
			continue
		}
		wg.Go(func() {
			answer, err := e.question(p.ID, p.RaftAddr, markQuestion+" "+e.cfg.ID+" "+mark)
			if err != nil {
				return
			}
			word, its, _ := strings.Cut(answer, " ")
			if word == wordNew {
				if _, err := e.id.mark(markOf+p.ID, its); err != nil {
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

// answerMark answers a founder whose data is empty and has that mark: a word, and this
// server's own mark when the other one is new.
func (e *entrance) answerMark(id, mark string) string {
	servers := e.configuration()
	waits := e.founding.Load() // nobody has counted on what the other was before
	switch {
	case !waits && len(servers) == 0:
		return wordLater
	case !waits && !member(servers, id):
		return wordOutside
	}
	if !waits {
		e.id.learning.Lock()
		kept, err := e.id.readMark(markOf + id)
		e.id.learning.Unlock()
		switch {
		case err != nil:
			return wordLater
		case string(kept) == mark:
		case len(kept) > 0 || e.knows(id):
			return wordKnown
		case e.raft.Load().AppliedIndex() < e.raft.Load().LastIndex(): // the state may come to know it
			return wordLater
		}
	}
	_, err := e.id.mark(markOf+id, mark)
	own, err2 := e.id.mark(ownMark, "")
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
func (e *entrance) awaitSeat(ctx context.Context) error {
	warned := false
	for {
		var rpc raft.RPC
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-e.fatal:
			return err
		case rpc = <-e.trans.Consumer():
		}
		word := ""
		switch cmd := rpc.Command.(type) {
		case *raft.AppendEntriesRequest:
			word = e.askSeat(cmd.RPCHeader)
		case *raft.InstallSnapshotRequest:
			word = e.askSeat(cmd.RPCHeader)
			_, _ = io.Copy(io.Discard, rpc.Reader) // else the connection is lost
		case *raft.RequestVoteRequest, *raft.RequestPreVoteRequest:
			if !warned {
				e.log.Warn("this server is asked for its vote, but it has no data: it has none before " +
					"it is removed and added again")
			}
			warned = true
		}
		rpc.Respond(nil, errWaits)
		switch word {
		case wordNonvoter:
			return nil
		case wordVoter:
			return e.dataLost("its cluster counts on its vote")
		}
	}
}

// askSeat asks a leader what this server is in its cluster.
func (e *entrance) askSeat(leader raft.RPCHeader) string {
	id, addr := string(leader.ID), string(e.trans.DecodePeer(leader.Addr))
	word, err := e.question(id, addr, seatQuestion+" "+e.cfg.ID)
	if !errors.Is(err, io.EOF) {
		return word
	}
	// A leader of an older version hangs up. It knows less: who has announced itself.
	switch word, _ = e.question(id, addr, question+" "+e.cfg.ID); word {
	case wordKnown:
		return wordVoter
	case wordUnknown:
		return wordNonvoter
	}
	return ""
}

// answerSeat tells what a server is in the newest configuration, when this server leads.
func (e *entrance) answerSeat(id string) string {
	rf := e.raft.Load()
	if rf == nil || rf.State() != raft.Leader || rf.VerifyLeader().Error() != nil {
		return wordLater
	}
	for _, s := range e.configuration() {
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

// bootstrap writes the first configuration, as a founder of a new cluster.
func (e *entrance) bootstrap() error {
	id := e.id.Cluster()
	if id == "" {
		id = deriveCluster(e.cfg.Peers)
	}
	if err := e.id.adopt(id); err != nil {
		return err
	}
	var conf raft.Configuration
	for _, p := range e.cfg.Peers {
		conf.Servers = append(conf.Servers, raft.Server{
			ID: raft.ServerID(p.ID), Address: raft.ServerAddress(p.RaftAddr),
		})
	}
	// All servers write the same list, whatever the order in their files.
	slices.SortFunc(conf.Servers, func(a, b raft.Server) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	// A crash may have come between the term and the first entry.
	if _, err := e.store.GetUint64([]byte("LastVoteTerm")); err != nil {
		if err := e.store.SetUint64([]byte("CurrentTerm"), 0); err != nil {
			return err
		}
	}
	err := raft.BootstrapCluster(e.cfg.raftConfig(nil), e.store, e.store, e.snaps, e.trans, conf)
	if err != nil {
		return fmt.Errorf("bootstrap cluster: %w", err)
	}
	e.log.Info("bootstrapped", "cluster", e.id.Cluster(), "servers", len(conf.Servers))
	return nil
}

// deriveCluster names a cluster after its first servers: all of them come to the
// same name without talking.
func deriveCluster(peers []Peer) string {
	lines := make([]string, 0, len(peers))
	for _, p := range peers {
		lines = append(lines, p.ID+"="+p.RaftAddr)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return "vigil-" + hex.EncodeToString(sum[:6])
}
