package cluster

import (
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// raftLog writes one line for each change of what raft says again and again: that a server
// cannot be reached, that it is back, that no majority answers. The repetitions are debug lines.
type raftLog struct {
	hclog.Logger

	mu      sync.Mutex
	down    map[raft.ServerAddress]time.Time // servers that cannot be reached, since when
	seeking bool                             // this server stands for election, and has said so
	failed  bool                             // an election has failed for want of answers, and it was said
}

func newRaftLog(l hclog.Logger) *raftLog {
	return &raftLog{Logger: l, down: map[raft.ServerAddress]time.Time{}}
}

// unreached are the messages that say that a server did not answer.
var unreached = map[string]bool{
	"failed to appendEntries to": true, "failed to heartbeat to": true,
	"failed to make requestVote RPC": true, "failed to pipeline appendEntries": true,
	"failed to start pipeline replication to": true, "failed to send snapshot to": true,
}

// Error implements hclog.Logger.
func (l *raftLog) Error(msg string, args ...any) {
	peer := peerOf(args)
	switch {
	case !unreached[msg] || peer == "":
		l.Logger.Error(msg, args...)
	case l.lost(peer):
		l.Logger.Warn("server cannot be reached", "peer", string(peer), "error", valueOf(args, "error"))
	default:
		l.Logger.Debug(msg, args...)
	}
}

// Warn implements hclog.Logger.
func (l *raftLog) Warn(msg string, args ...any) {
	switch msg {
	case "failed to contact": // for a moment; a server that stays away is told of in any case
		l.Logger.Debug(msg, args...)
	case "Election timeout reached, restarting election":
		l.Logger.Debug(msg, args...)
	case "heartbeat timeout reached, starting election":
		l.once(&l.seeking, func() { l.Logger.Warn("the leader is silent, stands for election", args...) }, msg, args)
	default:
		l.Logger.Warn(msg, args...)
	}
}

// Info implements hclog.Logger.
func (l *raftLog) Info(msg string, args ...any) {
	switch msg {
	case "entering candidate state", "aborting pipeline replication":
		l.Logger.Debug(msg, args...)
	case "pre-vote campaign failed, waiting for election timeout":
		l.once(&l.failed, func() {
			l.Logger.Warn("no majority answers, nobody leads", "unreached", l.unreached())
		}, msg, args)
	case "pipelining replication":
		if since, was := l.back(peerOf(args)); was {
			l.Logger.Info("server is back", "peer", string(peerOf(args)),
				"after", time.Since(since).Round(time.Millisecond))
			return
		}
		l.Logger.Debug(msg, args...)
	case "entering leader state":
		l.settled(false)
		l.Logger.Info(msg, args...)
	case "entering follower state":
		// Who follows asks nobody, so what it knew of the others ages. A leader that stepped down
		// knows no leader yet and goes on asking.
		l.settled(valueOf(args, "leader-address") != raft.ServerAddress(""))
		l.Logger.Info(msg, args...)
	default:
		l.Logger.Info(msg, args...)
	}
}

// once runs first when *said is not set yet, and sets it; else it writes a debug line.
func (l *raftLog) once(said *bool, first func(), msg string, args []any) {
	l.mu.Lock()
	was := *said
	*said = true
	l.mu.Unlock()
	if was {
		l.Logger.Debug(msg, args...)
		return
	}
	first()
}

// lost notes that a server cannot be reached; true: that is new.
func (l *raftLog) lost(peer raft.ServerAddress) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, was := l.down[peer]
	if !was {
		l.down[peer] = time.Now()
	}
	return !was
}

// back notes that a server answers again.
func (l *raftLog) back(peer raft.ServerAddress) (since time.Time, was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	since, was = l.down[peer]
	delete(l.down, peer)
	return since, was
}

// settled notes that an election is over.
func (l *raftLog) settled(forget bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seeking, l.failed = false, false
	if forget {
		clear(l.down)
	}
}

// unreached lists the addresses of servers that this one cannot reach, in order.
func (l *raftLog) unreached() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]string, 0, len(l.down))
	for addr := range l.down {
		list = append(list, string(addr))
	}
	slices.Sort(list)
	return list
}

// since tells for how long a server cannot be reached; false: it can be, or it was not tried.
func (l *raftLog) since(addr string) (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, was := l.down[raft.ServerAddress(addr)]
	return time.Since(at), was
}

// peerOf finds the address of the server that a line is about; empty: it is about none.
func peerOf(args []any) raft.ServerAddress {
	for _, key := range [...]string{"peer", "target"} {
		switch v := valueOf(args, key).(type) {
		case raft.Server:
			return v.Address
		case raft.ServerAddress:
			return v
		}
	}
	return ""
}

// valueOf finds a value of a line by its key; nil: the line has none.
func valueOf(args []any, key string) any {
	for i := 0; i+1 < len(args); i += 2 {
		if args[i] == key {
			return args[i+1]
		}
	}
	return nil
}
