package record

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrUnknown says that the log holds something that this version of vigil
// cannot read, or that is damaged. The server stops with its data untouched: to
// go on without the record would let its state drift from the others'. Start a
// version that knows the record.
var ErrUnknown = errors.New("unknown log record")

// ignorable is the first field number that a reader which does not know it may skip.
const ignorable = 1000

type number = protowire.Number

// wire walks the fields of one message at a time, in the format of log.proto. One
// description of a message (see words.go, for one) serves both directions: when
// encoding, naming a field appends it; when decoding, naming a field takes it if
// it is the next one in the input. Fields are named in ascending order, so that a
// message in canonical order is read in one pass; any other order takes more passes.
type wire struct {
	enc bool
	out []byte // encoded so far
	cursor
	err error
}

// cursor is the position in the message that is being decoded.
type cursor struct {
	msg  []byte // the whole message
	rest []byte // behind the current field
	text string // a copy of msg, made when the first string is taken out of it
	mark int    // len(rest) when the pass began; -1 before the first
	num  number // current field; 0 at the end
	typ  protowire.Type
	v    uint64 // its value, if a varint
	b    []byte // its value, if bytes
}

// open begins to encode a nested message; close ends it.
func (w *wire) open(n number) int {
	w.out = protowire.AppendTag(w.out, n, protowire.BytesType)
	w.out = append(w.out, 0) // length, if it is below 128
	return len(w.out)
}

func (w *wire) close(at int) {
	size := len(w.out) - at
	if size < 0x80 {
		w.out[at-1] = byte(size)
		return
	}
	more := protowire.SizeVarint(uint64(size)) - 1
	w.out = slices.Grow(w.out, more)[:len(w.out)+more]
	copy(w.out[at+more:], w.out[at:at+size])
	protowire.AppendVarint(w.out[:at-1], uint64(size))
}

// enter begins to decode the message b; the caller restores the cursor that it returns.
func (w *wire) enter(b []byte) cursor {
	saved := w.cursor
	w.cursor = cursor{msg: b, rest: b, mark: -1}
	return saved
}

// pass tells whether there is (more) to decode in the message, and fails when the
// last pass took nothing: then the current field is unknown.
func (w *wire) pass() bool {
	if w.mark < 0 {
		w.mark = len(w.rest) + 1
		w.next()
	}
	for w.err == nil && w.num != 0 {
		if len(w.rest) < w.mark {
			w.mark = len(w.rest)
			return true
		}
		if w.num < ignorable {
			w.err = fmt.Errorf("%w: field %d", ErrUnknown, w.num)
			return false
		}
		w.next()
	}
	return false
}

// next reads the next field of the message.
func (w *wire) next() {
	if len(w.rest) == 0 {
		w.num = 0
		return
	}
	num, typ, n := protowire.ConsumeTag(w.rest)
	if n < 0 {
		w.damaged(protowire.ParseError(n))
		return
	}
	w.num, w.typ, w.rest = num, typ, w.rest[n:]
	switch typ {
	case protowire.VarintType:
		w.v, n = protowire.ConsumeVarint(w.rest)
	case protowire.BytesType:
		w.b, n = protowire.ConsumeBytes(w.rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, w.rest)
	}
	if n < 0 {
		w.damaged(protowire.ParseError(n))
		return
	}
	w.rest = w.rest[n:]
}

func (w *wire) damaged(cause error) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: damaged: %w", ErrUnknown, cause)
	}
	w.num = 0
}

// at tells whether field n of type t is the current one.
func (w *wire) at(n number, t protowire.Type) bool {
	if w.num != n || w.err != nil {
		return false
	}
	if w.typ != t {
		w.damaged(fmt.Errorf("field %d has wire type %d", n, w.typ))
		return false
	}
	return true
}

// take gives the current field as a string that shares memory with the other
// strings of its message only.
func (w *wire) take() string {
	if w.text == "" {
		w.text = string(w.msg)
	}
	end := len(w.msg) - len(w.rest)
	return w.text[end-len(w.b) : end]
}

func (w *wire) str(n number, p *string) {
	if w.enc {
		if *p != "" {
			w.out = protowire.AppendTag(w.out, n, protowire.BytesType)
			w.out = protowire.AppendString(w.out, *p)
		}
		return
	}
	for w.at(n, protowire.BytesType) {
		*p = w.take()
		w.next()
	}
}

func (w *wire) strs(n number, p *[]string) {
	if w.enc {
		for _, s := range *p {
			w.out = protowire.AppendTag(w.out, n, protowire.BytesType)
			w.out = protowire.AppendString(w.out, s)
		}
		return
	}
	for w.at(n, protowire.BytesType) {
		*p = append(*p, w.take())
		w.next()
	}
}

func (w *wire) bytes(n number, p *[]byte) {
	if w.enc {
		if len(*p) > 0 {
			w.out = protowire.AppendTag(w.out, n, protowire.BytesType)
			w.out = protowire.AppendBytes(w.out, *p)
		}
		return
	}
	for w.at(n, protowire.BytesType) {
		*p = append([]byte(nil), w.b...)
		w.next()
	}
}

func (w *wire) bool(n number, p *bool) {
	if w.enc {
		if *p {
			w.out = protowire.AppendTag(w.out, n, protowire.VarintType)
			w.out = append(w.out, 1)
		}
		return
	}
	for w.at(n, protowire.VarintType) {
		*p = w.v != 0
		w.next()
	}
}

// uns is a number without a sign.
func uns[T ~uint8 | ~uint32 | ~uint64](w *wire, n number, p *T) {
	if w.enc {
		if *p != 0 {
			w.out = protowire.AppendTag(w.out, n, protowire.VarintType)
			w.out = protowire.AppendVarint(w.out, uint64(*p))
		}
		return
	}
	for w.at(n, protowire.VarintType) {
		*p = T(w.v)
		if uint64(*p) != w.v {
			w.damaged(fmt.Errorf("field %d: %d is out of range", n, w.v))
		}
		w.next()
	}
}

// sig is a number with a sign.
func sig[T ~int32 | ~int64](w *wire, n number, p *T) {
	if w.enc {
		if *p != 0 {
			w.out = protowire.AppendTag(w.out, n, protowire.VarintType)
			w.out = protowire.AppendVarint(w.out, protowire.EncodeZigZag(int64(*p)))
		}
		return
	}
	for w.at(n, protowire.VarintType) {
		v := protowire.DecodeZigZag(w.v)
		*p = T(v)
		if int64(*p) != v {
			w.damaged(fmt.Errorf("field %d: %d is out of range", n, v))
		}
		w.next()
	}
}

// list is a repeated message.
func list[T any](w *wire, n number, p *[]T, fields func(*wire, *T)) {
	if w.enc {
		for i := range *p {
			at := w.open(n)
			fields(w, &(*p)[i])
			w.close(at)
		}
		return
	}
	for w.at(n, protowire.BytesType) {
		*p = append(*p, *new(T))
		last := &(*p)[len(*p)-1]
		saved := w.enter(w.b)
		for w.pass() {
			fields(w, last)
		}
		w.cursor = saved
		w.next()
	}
}
