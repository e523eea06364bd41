package fsm

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"
	"unsafe"

	"vigil/fsm/noun"
	"vigil/fsm/table"
)

// A dump is a magic line, then blocks. A block is a length (8 bytes, little
// endian), a payload and its CRC-32C (4 bytes). The first payload is the schema:
// every struct type with its number of fields. Then meta, then each table's values
// by id in blocks of some 64 KiB: the table's number, the count of values, and
// (id, value) pairs. The last block is empty. Equal states give equal bytes.

const (
	dumpMagic  = "vigil state 1\n"
	blockBytes = 64 << 10
	maxBlock   = 16 << 20 // a value with everything at its limit is far smaller
	maxSpan    = 1 << 38  // between the smallest and the greatest id of a table
)

// ErrDamaged says that a dump cannot be trusted: nothing of it was used.
var ErrDamaged = errors.New("snapshot is damaged")

// ErrNewer says that a dump was written by a newer version of vigil.
var ErrNewer = errors.New("snapshot was written by a newer version; upgrade this server first")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// dumped are the types of a dump, in the order of their fields counts.
var dumped = []reflect.Type{
	reflect.TypeFor[meta](), reflect.TypeFor[noun.Room](), reflect.TypeFor[noun.Role](), reflect.TypeFor[noun.Agent](),
	reflect.TypeFor[noun.Lease](), reflect.TypeFor[noun.Task](), reflect.TypeFor[noun.Host](), reflect.TypeFor[noun.Session](),
	reflect.TypeFor[noun.Event](), reflect.TypeFor[noun.Stint](), reflect.TypeFor[noun.Settings](), reflect.TypeFor[noun.Server](),
	reflect.TypeFor[noun.MarkReport](), reflect.TypeFor[noun.KV](), reflect.TypeFor[noun.RoleSpec](), reflect.TypeFor[noun.LateResult](), reflect.TypeFor[noun.Held](),
	reflect.TypeFor[noun.Exit](), reflect.TypeFor[noun.Answer](), reflect.TypeFor[noun.Outcome](),
	reflect.TypeFor[noun.HostView](), reflect.TypeFor[noun.Brake](), reflect.TypeFor[noun.BrakeTick](), reflect.TypeFor[noun.Tombstone](),
	reflect.TypeFor[noun.Notes](),
	reflect.TypeFor[noun.Declaration](),
	reflect.TypeFor[noun.Mail](),
	reflect.TypeFor[noun.RoomWatch](), reflect.TypeFor[noun.Watchdog](), reflect.TypeFor[noun.WatchdogSettings](), reflect.TypeFor[noun.Cancellation](),
	reflect.TypeFor[noun.Escalation](), reflect.TypeFor[noun.Notice](), reflect.TypeFor[noun.Delivery](), reflect.TypeFor[noun.Escalations](), reflect.TypeFor[noun.EscalationSettings](),
	reflect.TypeFor[noun.Ladder](), reflect.TypeFor[noun.LadderSettings](), reflect.TypeFor[noun.LadderWindow](),
	reflect.TypeFor[noun.Plan](),
	reflect.TypeFor[noun.Screen](),
	reflect.TypeFor[noun.HostTerminal](), reflect.TypeFor[noun.PromptSettings](),
	reflect.TypeFor[noun.Chain](),
	reflect.TypeFor[noun.OverseerSpec](), reflect.TypeFor[noun.ChainSettings](),
	reflect.TypeFor[noun.BudgetSettings](),
}

// Dump writes the image; equal images give equal bytes. It may run while the
// state that the image was copied from moves on.
func (i *Image) Dump(w io.Writer) error {
	bw := bufio.NewWriterSize(w, 256<<10)
	bw.WriteString(dumpMagic)
	types, plans := i.schema()
	d := dumper{w: bw, plans: plans}
	for _, t := range types {
		d.buf = binary.AppendUvarint(d.buf, uint64(plans.fields(t)))
	}
	d.flush()
	d.buf = d.plans.of(dumped[0]).put(d.buf, unsafe.Pointer(&i.meta))
	d.flush()
	dumpTable(&d, 1, &i.rooms)
	dumpTable(&d, 2, &i.roles)
	dumpTable(&d, 3, &i.agents)
	dumpTable(&d, 4, &i.leases)
	dumpTable(&d, 5, &i.tasks)
	dumpTable(&d, 6, &i.hosts)
	dumpSessions(&d, &i.sessions)
	dumpTable(&d, 8, &i.events)
	dumpTable(&d, 9, &i.mails)
	dumpTable(&d, 10, &i.escalations)
	d.flush()
	if d.err != nil {
		return fmt.Errorf("write snapshot: %w", d.err)
	}
	if err := bw.Flush(); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// Hash is the SHA-256 of the dump: equal on all servers at the same index.
func (i *Image) Hash() [32]byte {
	h := sha256.New()
	if err := i.Dump(h); err != nil {
		panic("fsm: hashing cannot fail: " + err.Error())
	}
	return [32]byte(h.Sum(nil))
}

type dumper struct {
	w     *bufio.Writer
	plans planner
	buf   []byte
	err   error
}

func (d *dumper) flush() {
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

func dumpTable[K table.ID, T any](d *dumper, number byte, t *table.Table[K, T]) {
	p := d.plans.of(reflect.TypeFor[T]())
	for id, v := range t.From(0) {
		if len(d.buf) == 0 {
			d.buf = append(d.buf, number)
		}
		d.buf = binary.AppendUvarint(d.buf, uint64(id))
		d.buf = p.put(d.buf, unsafe.Pointer(v))
		if len(d.buf) >= blockBytes {
			d.flush()
		}
	}
	if len(d.buf) > 0 {
		d.flush()
	}
}

// dumpSessions sorts answers, whose order in memory depends on which server
// restored a snapshot when.
func dumpSessions(d *dumper, t *table.Table[noun.SessionID, noun.Session]) {
	p := d.plans.of(reflect.TypeFor[noun.Session]())
	for id, v := range t.From(0) {
		if len(d.buf) == 0 {
			d.buf = append(d.buf, 7)
		}
		ss := *v
		ss.Answers = slices.Clone(ss.Answers)
		slices.SortFunc(ss.Answers, func(a, b noun.Answer) int { return cmp.Compare(a.Seq, b.Seq) })
		d.buf = binary.AppendUvarint(d.buf, uint64(id))
		d.buf = p.put(d.buf, unsafe.Pointer(&ss))
		if len(d.buf) >= blockBytes {
			d.flush()
		}
	}
	if len(d.buf) > 0 {
		d.flush()
	}
}

// Load reads a dump and builds the indexes. On any error (ErrDamaged, ErrNewer, or
// what the reader says) there is no state.
func Load(r io.Reader) (*State, error) {
	br := bufio.NewReaderSize(r, 256<<10)
	magic := make([]byte, len(dumpMagic))
	if _, err := io.ReadFull(br, magic); err != nil || string(magic) != dumpMagic {
		return nil, fmt.Errorf("%w: it does not begin as a snapshot of vigil", ErrDamaged)
	}
	l := loader{r: br}
	s, err := l.state()
	if err != nil {
		return nil, err
	}
	if err := s.indexed(); err != nil {
		return nil, err
	}
	return s, nil
}

// indexed builds the indexes; a value that names what is not there shows as a
// nil pointer on the way and means damage that no checksum saw.
func (s *State) indexed() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: its values do not fit together: %v", ErrDamaged, r)
		}
	}()
	s.index()
	return nil
}

type loader struct {
	r     *bufio.Reader
	buf   []byte
	plans [11]plan // by table number; 0: meta
	spans [11]span
}

func (l *loader) block() ([]byte, error) {
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

func (l *loader) schema() error {
	buf, err := l.block()
	if err != nil {
		return err
	}
	counts := map[reflect.Type]int{}
	for _, t := range dumped {
		if len(buf) == 0 { // written before this type was added
			continue
		}
		n, k := binary.Uvarint(buf)
		if k <= 0 {
			return fmt.Errorf("%w: its schema is short", ErrDamaged)
		}
		if n > uint64(t.NumField()) {
			return ErrNewer
		}
		counts[t], buf = int(n), buf[k:]
	}
	if len(buf) > 0 {
		return ErrNewer
	}
	p := planner{fields: func(t reflect.Type) int { return counts[t] }}
	for i := range 9 { // later tables are not in the order of their types
		l.plans[i] = p.of(dumped[i])
	}
	l.plans[9] = p.of(reflect.TypeFor[noun.Mail]())
	l.plans[10] = p.of(reflect.TypeFor[noun.Escalation]())
	return nil
}

func (l *loader) state() (*State, error) {
	if err := l.schema(); err != nil {
		return nil, err
	}
	s := New()
	buf, err := l.block()
	if err != nil {
		return nil, err
	}
	s.meta = meta{Settings: noun.DefaultSettings()} // those that were added since
	if _, err := l.plans[0].get(buf, unsafe.Pointer(&s.meta)); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	for {
		buf, err := l.block()
		if err != nil {
			return nil, err
		}
		if len(buf) == 0 {
			return s, nil
		}
		if err := l.table(s, buf[0], buf[1:]); err != nil {
			return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
		}
	}
}

func (l *loader) table(s *State, number byte, buf []byte) error {
	switch number {
	case 1:
		return loadTable(&s.rooms, l.plans[1], &l.spans[1], buf)
	case 2:
		return loadTable(&s.roles, l.plans[2], &l.spans[2], buf)
	case 3:
		return loadTable(&s.agents, l.plans[3], &l.spans[3], buf)
	case 4:
		return loadTable(&s.leases, l.plans[4], &l.spans[4], buf)
	case 5:
		return loadTable(&s.tasks, l.plans[5], &l.spans[5], buf)
	case 6:
		return loadTable(&s.hosts, l.plans[6], &l.spans[6], buf)
	case 7:
		return loadTable(&s.sessions, l.plans[7], &l.spans[7], buf)
	case 8:
		return loadTable(&s.events, l.plans[8], &l.spans[8], buf)
	case 9:
		return loadTable(&s.mails, l.plans[9], &l.spans[9], buf)
	case 10:
		return loadTable(&s.escalations, l.plans[10], &l.spans[10], buf)
	}
	return fmt.Errorf("table %d is unknown", number)
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
	if id >= 1<<timerIDBits || sp.any && id <= sp.last || id-sp.first > maxSpan {
		return fmt.Errorf("id %d is out of order", id)
	}
	sp.last, sp.any = id, true
	return nil
}

func loadTable[K table.ID, T any](t *table.Table[K, T], p plan, sp *span, buf []byte) error {
	for len(buf) > 0 {
		id, k := binary.Uvarint(buf)
		if k <= 0 {
			return errShort
		}
		if err := sp.take(id); err != nil {
			return err
		}
		var err error
		if buf, err = p.get(buf[k:], unsafe.Pointer(t.Put(K(id)))); err != nil {
			return err
		}
	}
	return nil
}
