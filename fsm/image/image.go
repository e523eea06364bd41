package image

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"reflect"
	"unsafe"
)

// An image is a magic line, then blocks. A block is a length (8 bytes, little endian), a payload
// and its CRC-32C (4 bytes). The first payload is the schema: every struct type with its number
// of fields. Then the single values, then each table's values by id in blocks of some 64 KiB: the
// table's number and (id, value) pairs. The last block is empty.

// Magic is how every image begins.
const Magic = "vigil state 1\n"

const (
	blockBytes = 64 << 10
	maxBlock   = 16 << 20 // a value with everything at its limit is far smaller
	maxSpan    = 1 << 38  // between the smallest and the greatest id of a table
	maxID      = 1 << 56
)

// ErrDamaged says that an image cannot be trusted: nothing of it was used.
var ErrDamaged = errors.New("snapshot is damaged")

// ErrNewer says that an image was written by a newer version of vigil.
var ErrNewer = errors.New("snapshot was written by a newer version; upgrade this server first")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Schema names the struct types of an image in a fixed order, and how many of their fields are
// written. Types, and fields at the end of a type, are added and never taken away: an image
// that lacks them is read with zero values there.
type Schema struct {
	Types  []reflect.Type
	Fields func(reflect.Type) int
}

// Table is one table of an image; see Of.
type Table struct {
	number byte
	elem   reflect.Type
	write  func(d *writer, p plan)
	read   func(p plan, sp *span, buf []byte) error
}

// Of describes a table by its number, which never changes, and by how its values are yielded in
// order and made. tidy gives what is written of a value; nil: all as it is.
func Of[K ~uint32 | ~uint64, T any](number byte, from func(K) iter.Seq2[K, *T], put func(K) *T, tidy func(T) T) Table {
	write := func(d *writer, p plan) {
		for id, v := range from(0) {
			if len(d.buf) == 0 {
				d.buf = append(d.buf, number)
			}
			d.buf = binary.AppendUvarint(d.buf, uint64(id))
			if tidy != nil {
				tidied := tidy(*v)
				v = &tidied
			}
			d.buf = p.put(d.buf, unsafe.Pointer(v))
			if len(d.buf) >= blockBytes {
				d.flush()
			}
		}
		if len(d.buf) > 0 {
			d.flush()
		}
	}
	read := func(p plan, sp *span, buf []byte) error {
		for len(buf) > 0 {
			id, k := binary.Uvarint(buf)
			if k <= 0 {
				return errShort
			}
			if err := sp.take(id); err != nil {
				return err
			}
			var err error
			if buf, err = p.get(buf[k:], unsafe.Pointer(put(K(id)))); err != nil {
				return err
			}
		}
		return nil
	}
	return Table{number, reflect.TypeFor[T](), write, read}
}

// Write writes an image: the single values in one, which points to a struct of the schema, and
// the tables in the order of the list. They must not change meanwhile.
func Write[S any](w io.Writer, s Schema, one *S, tables []Table) error {
	bw := bufio.NewWriterSize(w, 256<<10)
	bw.WriteString(Magic)
	plans := planner{fields: s.Fields}
	d := writer{w: bw}
	for _, t := range s.Types {
		d.buf = binary.AppendUvarint(d.buf, uint64(s.Fields(t)))
	}
	d.flush()
	d.buf = plans.of(reflect.TypeFor[S]()).put(d.buf, unsafe.Pointer(one))
	d.flush()
	for _, t := range tables {
		t.write(&d, plans.of(t.elem))
	}
	d.flush()
	if d.err != nil {
		return fmt.Errorf("write snapshot: %w", d.err)
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

type writer struct {
	w   *bufio.Writer
	buf []byte
	err error
}

// flush writes the block that was gathered.
func (d *writer) flush() {
	var head [8]byte
	binary.LittleEndian.PutUint64(head[:], uint64(len(d.buf)))
	var tail [4]byte
	binary.LittleEndian.PutUint32(tail[:], crc32.Checksum(d.buf, castagnoli))
	for _, p := range [][]byte{head[:], d.buf, tail[:]} {
		if _, err := d.w.Write(p); err != nil && d.err == nil {
			d.err = err
		}
	}
	d.buf = d.buf[:0]
}

// Read reads an image into empty tables. On any error (ErrDamaged, ErrNewer, or what the reader
// says) what was read must not be used.
func Read[S any](r io.Reader, types []reflect.Type, one *S, tables []Table) error {
	br := bufio.NewReaderSize(r, 256<<10)
	magic := make([]byte, len(Magic))
	if _, err := io.ReadFull(br, magic); err != nil || string(magic) != Magic {
		return fmt.Errorf("%w: it does not begin as a snapshot of vigil", ErrDamaged)
	}
	l := reader{r: br}
	plans, err := l.schema(types)
	if err != nil {
		return err
	}
	buf, err := l.block()
	if err != nil {
		return err
	}
	if _, err := plans.of(reflect.TypeFor[S]()).get(buf, unsafe.Pointer(one)); err != nil {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	byNumber := map[byte]func([]byte) error{}
	for _, t := range tables {
		p, sp := plans.of(t.elem), new(span)
		byNumber[t.number] = func(buf []byte) error { return t.read(p, sp, buf) }
	}
	for {
		buf, err := l.block()
		if err != nil {
			return err
		}
		if len(buf) == 0 {
			return nil
		}
		read := byNumber[buf[0]]
		if read == nil {
			return fmt.Errorf("%w: table %d is unknown", ErrDamaged, buf[0])
		}
		if err := read(buf[1:]); err != nil {
			return fmt.Errorf("%w: %v", ErrDamaged, err)
		}
	}
}

type reader struct {
	r   *bufio.Reader
	buf []byte
}

func (l *reader) block() ([]byte, error) {
	buf, err := readBlock(l.r, maxBlock, l.buf)
	l.buf = buf
	var tail [4]byte
	if err == nil {
		_, err = io.ReadFull(l.r, tail[:])
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if crc32.Checksum(buf, castagnoli) != binary.LittleEndian.Uint32(tail[:]) {
		return nil, fmt.Errorf("%w: checksum of a block is wrong", ErrDamaged)
	}
	return buf, nil
}

// schema reads how many fields of each type there are.
func (l *reader) schema(types []reflect.Type) (planner, error) {
	buf, err := l.block()
	if err != nil {
		return planner{}, err
	}
	counts := map[reflect.Type]int{}
	for _, t := range types {
		if len(buf) == 0 { // written before this type was added
			continue
		}
		n, k := binary.Uvarint(buf)
		if k <= 0 {
			return planner{}, fmt.Errorf("%w: its schema is short", ErrDamaged)
		}
		if n > uint64(t.NumField()) {
			return planner{}, ErrNewer
		}
		counts[t], buf = int(n), buf[k:]
	}
	if len(buf) > 0 {
		return planner{}, ErrNewer
	}
	return planner{fields: func(t reflect.Type) int { return counts[t] }}, nil
}

// span guards the ids of one table: they ascend and lie close enough together.
type span struct {
	first, last uint64
	any         bool
}

func (sp *span) take(id uint64) error {
	if !sp.any {
		sp.first = id
	}
	if id >= maxID || sp.any && id <= sp.last || id-sp.first > maxSpan {
		return fmt.Errorf("id %d is out of order", id)
	}
	sp.last, sp.any = id, true
	return nil
}
