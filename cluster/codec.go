package cluster

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// encoder turns what the batcher gathers into one log entry, in the format of
// log.proto. Beats and requests are appended one by one, so that the batcher
// knows the size and can take the last one back.
type encoder struct{ w wire }

// reset begins an entry.
func (e *encoder) reset() { e.w = wire{enc: true, out: e.w.out[:0]} }

// size is the number of bytes so far.
func (e *encoder) size() int { return len(e.w.out) }

// cut takes back everything behind the first size bytes.
func (e *encoder) cut(size int) { e.w.out = e.w.out[:size] }

func (e *encoder) beats(b *fsm.HostBeats) {
	at := e.w.open(4)
	hostBeats(&e.w, b)
	e.w.close(at)
}

func (e *encoder) words(packed []byte) { e.w.bytes(6, &packed) }

func (e *encoder) request(r *fsm.Request) error {
	w := &e.w
	at := w.open(5)
	uns(w, 1, &r.Session)
	uns(w, 2, &r.Seq)
	w.bool(3, &r.Planned)
	if !putCluster(w, r.Cmd) && !putWord(w, r.Cmd) && !putWork(w, r.Cmd) &&
		!putHost(w, r.Cmd) && !putHealth(w, r.Cmd) && !putEscalation(w, r.Cmd) && !putWatchdog(w, r.Cmd) && !putLadder(w, r.Cmd) &&
		!putScreen(w, r.Cmd) && !putChain(w, r.Cmd) {
		return fmt.Errorf("encode command: %w: %T", ErrUnknownRecord, r.Cmd)
	}
	w.close(at)
	return nil
}

// seal adds what is known last and returns a copy that the log may keep.
func (e *encoder) seal(stint uint64, stamp noun.Time, wall noun.Wall) []byte {
	head := wire{enc: true, out: make([]byte, 0, 33+len(e.w.out))}
	uns(&head, 1, &stint)
	sig(&head, 2, &stamp)
	sig(&head, 3, &wall)
	return append(head.out, e.w.out...)
}

// encodeEntry encodes a whole entry. Index and Term belong to raft's own record.
func encodeEntry(e *fsm.Entry) ([]byte, error) {
	var enc encoder
	enc.reset()
	for i := range e.Beats {
		enc.beats(&e.Beats[i])
	}
	for i := range e.Requests {
		if err := enc.request(&e.Requests[i]); err != nil {
			return nil, err
		}
	}
	enc.words(e.Words)
	return enc.seal(e.Stint, e.Stamp, e.Wall), nil
}

// decodeEntry reads data into e, whose slices are reused. The packed beats share
// memory with data; everything else is copied. Any error is an ErrUnknownRecord.
func decodeEntry(data []byte, e *fsm.Entry) error {
	clear(e.Requests)
	clear(e.Beats)
	*e = fsm.Entry{Beats: e.Beats[:0], Requests: e.Requests[:0]}
	w := &wire{}
	w.enter(data)
	for w.pass() {
		uns(w, 1, &e.Stint)
		sig(w, 2, &e.Stamp)
		sig(w, 3, &e.Wall)
		list(w, 4, &e.Beats, hostBeats)
		list(w, 5, &e.Requests, getRequest)
		w.shared(6, &e.Words)
	}
	if w.err != nil {
		return fmt.Errorf("decode log entry: %w", w.err)
	}
	for i := range e.Requests {
		if e.Requests[i].Cmd == nil {
			return fmt.Errorf("decode log entry: %w: request without a command", ErrUnknownRecord)
		}
	}
	return nil
}

func hostBeats(w *wire, b *fsm.HostBeats) {
	uns(w, 1, &b.Host)
	w.str(2, &b.Boot)
	if w.enc {
		w.bytes(3, &b.Packed)
		return
	}
	w.shared(3, &b.Packed)
}

// shared takes a field out of the input without copying it: it is read while the entry is
// applied and kept by nobody.
func (w *wire) shared(n number, p *[]byte) {
	for w.at(n, protowire.BytesType) {
		*p = w.b[:len(w.b):len(w.b)]
		w.next()
	}
}

// getRequest is the decoding half of encoder.request.
func getRequest(w *wire, r *fsm.Request) {
	uns(w, 1, &r.Session)
	uns(w, 2, &r.Seq)
	w.bool(3, &r.Planned)
	for w.num >= firstCommand && w.num < ignorable && w.at(w.num, protowire.BytesType) {
		n := w.num
		saved := w.enter(w.b)
		cmd := getCluster(w, n)
		if cmd == nil {
			cmd = getWord(w, n)
		}
		if cmd == nil {
			cmd = getWork(w, n)
		}
		if cmd == nil {
			cmd = getHost(w, n)
		}
		if cmd == nil {
			cmd = getHealth(w, n)
		}
		if cmd == nil {
			cmd = getWatchdog(w, n)
		}
		if cmd == nil {
			cmd = getEscalation(w, n)
		}
		if cmd == nil {
			cmd = getLadder(w, n)
		}
		if cmd == nil {
			cmd = getScreen(w, n)
		}
		if cmd == nil {
			cmd = getChain(w, n)
		}
		if cmd == nil && w.err == nil {
			w.err = fmt.Errorf("%w: command %d", ErrUnknownRecord, n)
		}
		r.Cmd = cmd
		w.cursor = saved
		w.next()
	}
}
