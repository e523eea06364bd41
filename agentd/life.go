package agentd

import (
	"context"
	"strings"
	"sync"
	"time"

	"vigil/agentd/disk"
	"vigil/agentd/output"
	"vigil/agentd/shim"
	"vigil/agentd/telemetry"
	"vigil/rpc/gen/vigilv1"
)

// defaultTTL is used when neither the order nor the acceptance names one.
const defaultTTL = time.Minute

// phase is how far a life has come.
type phase uint8

const (
	accepting phase = iota // AcceptOrder is under way; nothing may be forked
	accepted               // committed, but an acknowledged beat is needed before the fork
	starting               // journal and fork are under way
	running
)

// ending says why a life is stopped.
type ending struct {
	why    string // a sentence, for people; empty: it is not stopped
	exempt bool   // on purpose: not a crash, not a failed start
}

// acceptance is what matters from the acceptance of an order to the fork.
type acceptance struct {
	token  string             // until it was given to the process
	giveUp context.CancelFunc // ends the attempts to accept
	asked  time.Duration      // when the first of them was sent
	// confirm: a beat must be acknowledged before the fork.
	confirm bool
}

// life is one incarnation on this host. It belongs to the keeper's goroutine.
type life struct {
	agent uint32
	inc   uint64
	order *vigilv1.Order // of an adopted life: what the journal knows of it
	phase phase

	acceptance
	ttl     time.Duration
	acked   time.Duration // when the newest acknowledged beat was sent
	silence time.Duration // between that beat and the acknowledged one before it
	longest time.Duration // the runner's limit of the grace; 0: none
	folder  string        // in the journal; empty: nothing was written
	process process       // from running on
	begun   time.Duration // when the journal and the fork were begun
	hung    bool          // that takes longer than hangLimit
	stuck   bool          // something of it outlives SIGKILL, or it is hung
	frozen  bool          // as last seen
	// unconfirmed is for how long a leader has answered and not confirmed the life while it was frozen.
	unconfirmed time.Duration
	untold      bool   // adopted: its start may not have been reported
	adopted     bool   // an earlier daemon has started it
	sight       *sight // nil: nobody looks at its terminal
	turn        turn   // of the human who types at its terminal
	sizes       sizes  // of its terminal
	typing      sync.Mutex
	// spoolOwner is the account whose files in the spool are read.
	spoolOwner int

	ending ending
	killed bool // SIGKILL was ordered, or will be as soon as there is a process

	course *telemetry.Course // of which spans are made; nil: of none
}

// intent is what the journal keeps of the life.
func (l *life) intent() disk.Intent {
	return disk.Intent{Version: shim.Version, Agent: l.agent, AgentName: l.order.GetAgentName(), Incarnation: l.inc,
		Runner: l.order.GetRunner(), Proof: l.order.GetProof(), TTL: l.ttl,
		StopGrace: l.order.GetStopGrace().AsDuration(),
		Longest:   l.longest, SpoolOwner: l.spoolOwner, Traced: tracedOf(l.course)}
}

// who is the life in beats and in the journal.
func (l *life) who() disk.Life { return disk.Life{Agent: l.agent, Incarnation: l.inc} }

// covered tells whether the cluster holds a fence for this life, as far as known.
func (l *life) covered() bool { return l.phase != accepting }

// renewed tells whether beats renew that fence. That of a start which hangs may end:
// the newest beat that its shim knows of is the acceptance, so it starts nothing
// any more or freezes by itself (law L7).
func (l *life) renewed() bool { return l.covered() && !l.hung }

// vouched tells whether this daemon proves that the agent lives.
func (l *life) vouched() bool {
	return l.phase == running && !l.stuck && l.order.GetProof() != "agent"
}

// patience is F: the age of the last acknowledged beat at which a shim freezes its
// tree.
func (l *life) patience() time.Duration { return l.ttl * 3 / 4 }

// acknowledge notes that a beat sent at that time found the incarnation current,
// and tells its dead-man's switch.
func (l *life) acknowledge(sent time.Duration) {
	if sent > l.acked {
		l.silence, l.acked = sent-l.acked, sent
	}
	if l.process != nil {
		l.process.Acknowledge(l.acked)
	}
}

// silent says for how long no beat was acknowledged when the tree froze. The word of that may come
// after the next acknowledgement, which then tells nothing: the silence before it does.
func (l *life) silent(now time.Duration) string {
	switch since := now - l.acked; {
	case l.acked == 0:
		return "since before this agentd began" // it was taken over so
	case since < l.patience() && l.silence < l.acked:
		return l.silence.String()
	case since < l.patience():
		return "until just now" // the first beat since it was taken over has been acknowledged
	default:
		return since.String()
	}
}

// place splits room/role.2 into room, role and the agent's own name in the room.
func place(agentName string) (room, role, agent string, err error) {
	room, agent, err = output.SplitName(agentName)
	role = agent
	if i := strings.LastIndexByte(agent, '.'); i > 0 && strings.Trim(agent[i+1:], "0123456789") == "" {
		role = agent[:i]
	}
	return room, role, agent, err
}
