package record

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// Encoder turns what the batcher gathers into one log entry, in the format of
// log.proto. Beats and requests are appended one by one, so that the batcher
// knows the size and can take the last one back.
type Encoder struct{ w wire }

// Reset begins an entry.
func (e *Encoder) Reset() { e.w = wire{enc: true, out: e.w.out[:0]} }

// Size is the number of bytes so far.
func (e *Encoder) Size() int { return len(e.w.out) }

// Cut takes back everything behind the first size bytes.
func (e *Encoder) Cut(size int) { e.w.out = e.w.out[:size] }

// Beats appends the renewals of one host.
func (e *Encoder) Beats(b *fsm.HostBeats) {
	at := e.w.open(4)
	hostBeats(&e.w, b)
	e.w.close(at)
}

// Words sets the renewals by the words among the requests; once an entry.
func (e *Encoder) Words(packed []byte) { e.w.bytes(6, &packed) }

// Request appends a request, or fails with ErrUnknown and leaves half of it behind: Cut.
func (e *Encoder) Request(r *fsm.Request) error {
	w := &e.w
	at := w.open(5)
	uns(w, 1, &r.Session)
	uns(w, 2, &r.Seq)
	w.bool(3, &r.Planned)
	list(w, 4, &r.Audit, auditNote)
	if err := w.command(r.Cmd); err != nil {
		return err
	}
	w.close(at)
	return nil
}

// Seal adds what is known last and returns a copy that the log may keep.
func (e *Encoder) Seal(stint uint64, stamp noun.Time, wall noun.Wall) []byte {
	head := wire{enc: true, out: make([]byte, 0, 33+len(e.w.out))}
	uns(&head, 1, &stint)
	sig(&head, 2, &stamp)
	sig(&head, 3, &wall)
	return append(head.out, e.w.out...)
}

// Encode encodes a whole entry. Index and Term belong to raft's own record.
func Encode(e *fsm.Entry) ([]byte, error) {
	var enc Encoder
	enc.Reset()
	for i := range e.Beats {
		enc.Beats(&e.Beats[i])
	}
	for i := range e.Requests {
		if err := enc.Request(&e.Requests[i]); err != nil {
			return nil, err
		}
	}
	enc.Words(e.Words)
	return enc.Seal(e.Stint, e.Stamp, e.Wall), nil
}

// Decode reads data into e, whose slices are reused. The packed beats share
// memory with data; everything else is copied. Any error is an ErrUnknown.
func Decode(data []byte, e *fsm.Entry) error {
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
			return fmt.Errorf("decode log entry: %w: request without a command", ErrUnknown)
		}
	}
	return nil
}

func hostBeats(w *wire, b *fsm.HostBeats) {
	uns(w, 1, &b.Host)
	w.str(2, &b.Boot)
	if w.enc {
		w.bytes(3, &b.Packed)
		list(w, 4, &b.Usage, used)
		return
	}
	w.shared(3, &b.Packed)
	list(w, 4, &b.Usage, used)
}

func used(w *wire, u *fsm.Used) {
	uns(w, 1, &u.Agent)
	uns(w, 2, &u.Inc)
	uns(w, 3, &u.Run)
	uns(w, 4, &u.Input)
	uns(w, 5, &u.Output)
	uns(w, 6, &u.Cache)
	uns(w, 7, &u.MicroUSD)
	uns(w, 8, &u.Other)
	uns(w, 9, &u.Shell)
	uns(w, 10, &u.Read)
	uns(w, 11, &u.Edit)
	uns(w, 12, &u.Search)
	uns(w, 13, &u.Web)
	uns(w, 14, &u.Delegated)
	uns(w, 15, &u.MCP)
}

// shared takes a field out of the input without copying it: it is read while the entry is
// applied and kept by nobody.
func (w *wire) shared(n number, p *[]byte) {
	for w.at(n, protowire.BytesType) {
		*p = w.b[:len(w.b):len(w.b)]
		w.next()
	}
}

// getRequest is the decoding half of Encoder.Request.
func getRequest(w *wire, r *fsm.Request) {
	uns(w, 1, &r.Session)
	uns(w, 2, &r.Seq)
	w.bool(3, &r.Planned)
	list(w, 4, &r.Audit, auditNote)
	for w.num >= firstCommand && w.num < ignorable && w.at(w.num, protowire.BytesType) {
		r.Cmd = w.known()
	}
}
