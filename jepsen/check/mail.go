package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"vigil/jepsen/history"
)

// reader is one life that reads mail.
type reader struct {
	agent       string
	incarnation uint64
}

// letter is all that is known of one mail.
type letter struct {
	send  history.Op   // Kind empty: its sending had no answer
	reads []history.Op // that showed it
	acks  []history.Op
	final history.Op // Kind empty: it is not there
}

// mail judges that no mail is lost, and that each life gets each of its own once.
func mail(t *trial, r *Result) {
	letters := map[string]*letter{}
	get := func(number string) *letter {
		if letters[number] == nil {
			letters[number] = &letter{}
		}
		return letters[number]
	}
	subjects := map[string]history.Op{}
	drained := map[string]reader{} // by agent
	listed := false
	for _, op := range t.rec.Ops {
		if op.Workload != "mail" {
			continue
		}
		switch {
		case op.Kind == "drained":
			drained[op.Agent] = reader{op.Agent, op.Incarnation}
		case op.Kind == "ack":
			get(op.List[0]).acks = append(get(op.List[0]).acks, op)
		case op.Outcome != history.OK:
		case op.Kind == "send":
			r.judged(1)
			for _, number := range op.List {
				get(number).send = op
			}
		case op.Kind == "final":
			listed = true
			get(op.List[0]).final = op
			if first, twice := subjects[op.Value]; twice {
				r.found(Finding{From: first.Call, To: op.Return, Ops: []history.Op{first, op}},
					"%q is there twice: as mail %s and as %s", op.Value, first.List[0], op.List[0])
			}
			subjects[op.Value] = op
		default: // read, drain
			for _, number := range op.List {
				number = strings.TrimSuffix(number, "*")
				get(number).reads = append(get(number).reads, op)
			}
		}
	}
	vain := t.vainReads()
	for _, number := range slices.SortedFunc(maps.Keys(letters),
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) {
		x := letters[number]
		slices.SortStableFunc(x.reads, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
		x.handedOver(r, number, vain)
		x.kept(r, number, listed, drained)
	}
	r.count("mails", len(letters))
	r.count("mailboxes read to their end", len(drained))
}

// vainReads are reads without an answer, by agent: they may have marked mail.
func (t *trial) vainReads() map[string][]history.Op {
	vain := map[string][]history.Op{}
	for _, op := range t.rec.Ops {
		if op.Workload == "mail" && (op.Kind == "read" || op.Kind == "drain") && op.Outcome == history.Unknown {
			vain[op.Agent] = append(vain[op.Agent], op)
		}
	}
	return vain
}

// owner is whose mailbox the mail is in; empty: nobody was told.
func (x *letter) owner() string { return cmp.Or(x.send.Key, x.final.Key) }

// handedOver judges who got the mail, and how it was marked.
func (x *letter) handedOver(r *Result, number string, vain map[string][]history.Op) {
	seen := map[reader]history.Op{}
	for i, op := range x.reads {
		r.judged(1)
		who := reader{op.Agent, op.Incarnation}
		if first, again := seen[who]; again {
			r.found(Finding{From: first.Call, To: op.Return, Ops: []history.Op{first, op}},
				"mail %s was handed over to %s %d twice", number, op.Agent, op.Incarnation)
		}
		seen[who] = op
		if owner := x.owner(); owner != "" && owner != op.Agent {
			r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{x.send, op}},
				"mail %s to %s was handed over to %s", number, owner, op.Agent)
		}
		for _, ack := range x.acks {
			if ack.Outcome == history.OK && ack.Return < op.Call {
				r.found(Finding{From: ack.Call, To: op.Return, Ops: []history.Op{ack, op}},
					"mail %s was handed over to %s %d after it had been acknowledged", number, op.Agent, op.Incarnation)
			}
		}
		before := func(other history.Op) bool { return other.Call < op.Return && other.Incarnation != op.Incarnation }
		known := slices.ContainsFunc(x.reads[:i], func(other history.Op) bool {
			return before(other) && other.Return < op.Call
		})
		possible := slices.ContainsFunc(x.reads, before) ||
			slices.ContainsFunc(vain[op.Agent], func(other history.Op) bool { return other.Call < op.Return })
		switch starred := slices.Contains(op.List, number+"*"); {
		case known && !starred:
			r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{x.reads[0], op}},
				"mail %s was handed over to %s %d as if for the first time", number, op.Agent, op.Incarnation)
		case starred && !possible:
			r.found(Finding{From: op.Call, To: op.Return, Ops: []history.Op{op}},
				"mail %s was handed over to %s %d as if not for the first time", number, op.Agent, op.Incarnation)
		}
	}
}

// kept judges that the mail is there at the end, and as it was left.
func (x *letter) kept(r *Result, number string, listed bool, drained map[string]reader) {
	there := x.final.Kind != ""
	confirmed := slices.ContainsFunc(x.acks, func(op history.Op) bool { return op.Outcome == history.OK })
	switch {
	case !listed || x.send.Kind == "":
		return
	case !there && len(x.acks) == 0:
		r.found(Finding{From: x.send.Call, To: x.send.Return, Ops: []history.Op{x.send}},
			"mail %s was accepted and is lost", number)
		return
	case !there:
		r.excuse("acknowledged, and removed since: closed mail is kept for a while")
		return
	case x.final.Value != x.send.Value || x.final.Key != x.send.Key:
		r.found(Finding{From: x.send.Call, To: x.final.Return, Ops: []history.Op{x.send, x.final}},
			"mail %s was accepted as %q to %s and is %q to %s", number, x.send.Value, x.send.Key, x.final.Value,
			x.final.Key)
	case confirmed && x.final.State != "acknowledged":
		r.found(Finding{From: x.acks[0].Call, To: x.final.Return,
			Ops: append(slices.Clone(x.acks), x.final)}, "mail %s was acknowledged and is %s at the end",
			number, x.final.State)
	}
	last, read := drained[x.send.Key]
	if !read || len(x.acks) > 0 {
		return
	}
	if !slices.ContainsFunc(x.reads, func(op history.Op) bool { return (reader{op.Agent, op.Incarnation}) == last }) {
		r.found(Finding{From: x.send.Call, To: x.final.Return, Ops: append([]history.Op{x.send, x.final}, x.reads...)},
			"mail %s waits for %s, and its last life, which has read everything, did not get it", number, x.send.Key)
	}
}
