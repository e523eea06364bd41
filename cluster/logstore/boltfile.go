package logstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// Of bolt's file format, version 2.
const (
	boltMagic    = 0xED0CDAED
	boltHeader   = 16 // of a page: id, flags, count, overflow
	boltElement  = 16 // of a page: an entry's place
	boltBranch   = 0x01
	boltLeaf     = 0x02
	boltFreelist = 0x10
	boltBucket   = 0x01 // flag of a leaf's entry
	boltNoFree   = ^uint64(0)
	boltDepth    = 32 // no tree of 2^48 pages is deeper
)

// boltFile reads a bolt file page by page and looks at everything that bolt takes
// for granted. Bolt itself panics on a page that makes no sense, and when the newer
// of its two meta pages is damaged it goes on from the older one without a word:
// the last transaction, which was acknowledged, is gone. Values are not looked at.
// See go.etcd.io/bbolt, page.go and db.go.
type boltFile struct {
	in   io.ReaderAt
	size int64

	page int64 // bytes of a page
	meta boltMeta
	seen []uint64 // a bit for each page
}

// boltMeta is what a meta page says.
type boltMeta struct{ root, freelist, pages, tx uint64 }

// boltEntry is one entry of a page: of a branch with a child, of a leaf with a value.
type boltEntry struct {
	key, value []byte
	child      uint64
	bucket     bool
}

// check reads the whole tree and calls visit with each key of each bucket, in order.
func (b *boltFile) check(visit func(bucket, key []byte) error) error {
	if err := b.readMetas(); err != nil {
		return err
	}
	b.seen = make([]uint64, b.meta.pages/64+1)
	b.mark(0)
	b.mark(1)
	if err := b.walk(b.meta.root, nil, nil, 0, func(e *boltEntry) error {
		if !e.bucket {
			return fmt.Errorf("entry %q is no bucket", e.key)
		}
		return b.bucket(e, visit)
	}); err != nil {
		return err
	}
	return b.freelist()
}

// readMetas reads both meta pages. Each transaction overwrites the older one, in one
// sector, after everything else was synced: a crash leaves both whole, with numbers
// that follow each other.
func (b *boltFile) readMetas() error {
	first, page, err := b.readMeta(0)
	if err != nil {
		return fmt.Errorf("meta page 0: %w", err)
	}
	b.page = page
	second, page, err := b.readMeta(page)
	if err != nil {
		return fmt.Errorf("meta page 1: %w", err)
	}
	switch b.meta = first; {
	case page != b.page || first.tx%2 != 0 || second.tx%2 != 1:
		return fmt.Errorf("the meta pages do not belong together")
	case second.tx == first.tx+1:
		b.meta = second
	case first.tx != second.tx+1:
		return fmt.Errorf("the meta pages are of transactions %d and %d: one was lost", first.tx, second.tx)
	}
	if want := int64(b.meta.pages) * b.page; b.meta.pages >= 1<<48 || b.size < want {
		return fmt.Errorf("it has %d bytes and should have %d at least: its end is lost", b.size, want)
	}
	return nil
}

func (b *boltFile) readMeta(at int64) (m boltMeta, page int64, err error) {
	var buf [boltHeader + 64]byte
	if _, err := b.in.ReadAt(buf[:], at); err != nil {
		return m, 0, err
	}
	order, p := binary.NativeEndian, buf[boltHeader:]
	sum := fnv.New64a()
	sum.Write(p[:56])
	size := order.Uint32(p[8:])
	if order.Uint32(p) != boltMagic || order.Uint64(p[56:]) != sum.Sum64() || size < 512 || size > 1<<20 {
		return m, 0, fmt.Errorf("it is damaged, and with it the last transaction may be lost")
	}
	m = boltMeta{root: order.Uint64(p[16:]), freelist: order.Uint64(p[32:]), pages: order.Uint64(p[40:]),
		tx: order.Uint64(p[48:])}
	return m, int64(size), nil
}

// mark notes that a page is in use and tells whether it was not before.
func (b *boltFile) mark(id uint64) bool {
	word, bit := &b.seen[id/64], uint64(1)<<(id%64)
	was := *word & bit
	*word |= bit
	return was == 0
}

// read reads a page with what overflows it.
func (b *boltFile) read(id uint64) ([]byte, error) {
	if id < 2 || id >= b.meta.pages {
		return nil, fmt.Errorf("page %d is named, there are %d", id, b.meta.pages)
	}
	buf := make([]byte, b.page)
	if _, err := b.in.ReadAt(buf, int64(id)*b.page); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	more := uint64(binary.NativeEndian.Uint32(buf[12:]))
	if binary.NativeEndian.Uint64(buf) != id || more >= b.meta.pages-id {
		return nil, fmt.Errorf("page %d is not what it should be", id)
	}
	for i := id; i <= id+more; i++ {
		if !b.mark(i) {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
	}
	if more > 0 {
		buf = append(buf, make([]byte, int64(more)*b.page)...)
		if _, err := b.in.ReadAt(buf[b.page:], int64(id+1)*b.page); err != nil {
			return nil, fmt.Errorf("page %d: %w", id+1, err)
		}
	}
	return buf, nil
}

// walk reads a tree and visits its leaves' entries. All its keys lie from low up to
// high; nil: no bound.
func (b *boltFile) walk(id uint64, low, high []byte, depth int, visit func(*boltEntry) error) error {
	buf, err := b.read(id)
	if err != nil {
		return err
	}
	if err := b.entries(buf, low, high, depth, visit); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

// entries walks through a page and below it.
func (b *boltFile) entries(buf, low, high []byte, depth int, visit func(*boltEntry) error) (err error) {
	flags, count := binary.NativeEndian.Uint16(buf[8:]), int(binary.NativeEndian.Uint16(buf[10:]))
	if flags != boltBranch && flags != boltLeaf || depth > boltDepth || flags == boltBranch && count == 0 {
		return fmt.Errorf("it is not a page of a tree")
	}
	list := make([]boltEntry, count)
	last, at := low, boltHeader+count*boltElement
	if count == 0 && len(bytes.Trim(buf[boltHeader:], "\x00")) > 0 {
		return fmt.Errorf("it says that it is empty")
	}
	for i := range list {
		// Bolt packs keys and values behind the last element, so a wrong count shows.
		if at, err = list[i].read(buf, i, at, flags == boltLeaf); err != nil {
			return err
		}
		key := list[i].key
		if order := bytes.Compare(key, last); order < 0 || order == 0 && i > 0 || high != nil &&
			bytes.Compare(key, high) >= 0 {
			return fmt.Errorf("key %x is out of order", key)
		}
		last = key
	}
	for i := range list {
		e, end := &list[i], high
		if flags == boltLeaf {
			err = visit(e)
		} else {
			if i+1 < len(list) {
				end = list[i+1].key
			}
			err = b.walk(e.child, e.key, end, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read finds the i-th entry of a page, whose key lies at the place given, and gives
// the place of the next.
func (e *boltEntry) read(buf []byte, i, place int, leaf bool) (next int, err error) {
	at := boltHeader + i*boltElement
	if at+boltElement > len(buf) {
		return 0, fmt.Errorf("entry %d is beyond its end", i)
	}
	order, p := binary.NativeEndian, buf[at:]
	var pos, key, value uint64
	if leaf {
		e.bucket = order.Uint32(p)&boltBucket != 0
		pos, key, value = uint64(order.Uint32(p[4:])), uint64(order.Uint32(p[8:])), uint64(order.Uint32(p[12:]))
	} else {
		pos, key, e.child = uint64(order.Uint32(p)), uint64(order.Uint32(p[4:])), order.Uint64(p[8:])
	}
	if pos+key+value > uint64(len(p)) || pos != uint64(place-at) {
		return 0, fmt.Errorf("entry %d is not where it should be", i)
	}
	e.key, e.value = p[pos:pos+key], p[pos+key:pos+key+value]
	return place + int(key+value), nil
}

// bucket walks through one bucket, which is a tree or, when small, a page inside its entry.
func (b *boltFile) bucket(e *boltEntry, visit func(bucket, key []byte) error) error {
	if len(e.value) < 16 {
		return fmt.Errorf("bucket %q is short", e.key)
	}
	each := func(in *boltEntry) error {
		if in.bucket {
			return fmt.Errorf("bucket %q holds another", e.key)
		}
		return visit(e.key, in.key)
	}
	root := binary.NativeEndian.Uint64(e.value)
	if root != 0 {
		return b.walk(root, nil, nil, 0, each)
	}
	inline := e.value[16:]
	if len(inline) < boltHeader || binary.NativeEndian.Uint16(inline[8:]) != boltLeaf {
		return fmt.Errorf("bucket %q is short", e.key)
	}
	return b.entries(inline, nil, nil, 0, each)
}

// freelist looks at the list of free pages, which an older version wrote: a page
// that is on it and in use would be overwritten.
func (b *boltFile) freelist() error {
	if b.meta.freelist == boltNoFree {
		return nil
	}
	buf, err := b.read(b.meta.freelist)
	if err != nil {
		return fmt.Errorf("list of free pages: %w", err)
	}
	ids, count := buf[boltHeader:], uint64(binary.NativeEndian.Uint16(buf[10:]))
	if count == 0xFFFF {
		count, ids = binary.NativeEndian.Uint64(ids), ids[8:]
	}
	if binary.NativeEndian.Uint16(buf[8:]) != boltFreelist || count > uint64(len(ids)/8) {
		return fmt.Errorf("list of free pages is damaged")
	}
	for i := range count {
		id := binary.NativeEndian.Uint64(ids[i*8:])
		if id < 2 || id >= b.meta.pages || !b.mark(id) {
			return fmt.Errorf("page %d is free and in use", id)
		}
	}
	return nil
}
