package sim

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// content is what is on a disk. Entries, values and snapshots in it are never changed.
type content struct {
	logs        map[uint64]*raft.Log
	first, last uint64
	values      map[string][]byte
	numbers     map[string]uint64
	snaps       []*memSnapshot // newest first
}

func newContent() *content {
	return &content{logs: map[uint64]*raft.Log{}, values: map[string][]byte{}, numbers: map[string]uint64{}}
}

func (c *content) clone() *content {
	return &content{logs: maps.Clone(c.logs), first: c.first, last: c.last, values: maps.Clone(c.values),
		numbers: maps.Clone(c.numbers), snaps: slices.Clone(c.snaps)}
}

// remove drops entries from one end of the log.
func (c *content) remove(low, high uint64) {
	for i := low; i <= high; i++ {
		delete(c.logs, i)
	}
	if low <= c.first {
		c.first = high + 1
	}
	if high >= c.last {
		c.last = low - 1
	}
	if c.first > c.last {
		c.first, c.last = 0, 0
	}
}

// disk keeps what a server has written. A write that has returned survives a crash,
// one that has not may or may not, wholly.
type disk struct {
	mu      sync.Mutex
	rng     *rand.Rand
	c       *content
	h       *handle       // of the server that runs
	stalled chan struct{} // closed when the disk answers again; nil: it does
	stalls  int           // faults that want it stalled
	asked   time.Time     // since when something waits for a stalled disk; zero: nothing does
	slow    time.Duration // a write takes up to this long
	lies    uint64        // entries at the end of the log that a crash takes away; a defect
}

func newDisk(rng *rand.Rand) *disk { return &disk{rng: rng, c: newContent()} }

// open gives the disk to one run of a server.
func (d *disk) open() *handle {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.h = &handle{d: d, c: d.c}
	return d.h
}

// crash takes the disk away from the server that runs: whatever that still does
// has no effect.
func (d *disk) crash() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.h != nil {
		d.h.c, d.h = d.c.clone(), nil
	}
	if n := d.lies; n > 0 && d.c.last > d.c.first+n {
		d.c.remove(d.c.last-n+1, d.c.last)
	}
	d.release()
}

// stall makes the disk stop answering until as many calls of resume, or a crash.
func (d *disk) stall() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stalls++
	if d.stalled == nil {
		d.stalled = make(chan struct{})
	}
}

func (d *disk) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stalls--; d.stalls <= 0 {
		d.release()
	}
}

// heal makes the disk answer, whoever stalled it.
func (d *disk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release()
}

// waited is for how long something has waited for a stalled disk.
func (d *disk) waited() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked.IsZero() {
		return 0
	}
	return time.Since(d.asked)
}

// await waits for so long and for a stalled disk. The disk is locked before and after.
func (d *disk) await(stalled <-chan struct{}, wait time.Duration) {
	if stalled != nil && d.asked.IsZero() {
		d.asked = time.Now()
	}
	d.mu.Unlock()
	defer d.mu.Lock()
	time.Sleep(wait)
	if stalled != nil {
		<-stalled
	}
}

func (d *disk) release() {
	d.stalls, d.asked = 0, time.Time{}
	if d.stalled != nil {
		close(d.stalled)
		d.stalled = nil
	}
}

func (d *disk) slowDown(most time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = most
}

// wipe empties the disk of a server that does not run.
func (d *disk) wipe() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.c = newContent()
}

// handle is the disk as one run of a server sees it.
type handle struct {
	d *disk
	c *content // guarded by d.mu; a copy of the disk's after a crash
}

// write changes the disk, as fast as that goes.
func (h *handle) write(op func(*content)) {
	d := h.d
	d.mu.Lock()
	stalled, wait := d.stalled, time.Duration(0)
	if d.slow > 0 {
		wait = time.Duration(d.rng.Int64N(int64(d.slow)))
	}
	now := stalled == nil && wait == 0
	early := now || d.rng.IntN(2) == 0 // it may be on the disk before that is known
	if early {
		op(h.c)
	}
	if !now {
		d.await(stalled, wait)
		if !early {
			op(h.c)
		}
	}
	d.mu.Unlock()
}

// read looks at the disk; it hangs with it.
func (h *handle) read(op func(*content)) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.d.await(h.d.stalled, 0)
	op(h.c)
}

func (h *handle) FirstIndex() (i uint64, _ error) {
	h.read(func(c *content) { i = c.first })
	return i, nil
}

func (h *handle) LastIndex() (i uint64, _ error) {
	h.read(func(c *content) { i = c.last })
	return i, nil
}

func (h *handle) GetLog(index uint64, log *raft.Log) (err error) {
	h.read(func(c *content) {
		if l := c.logs[index]; l != nil {
			*log = *l
		} else {
			err = raft.ErrLogNotFound
		}
	})
	return err
}

func (h *handle) StoreLog(log *raft.Log) error { return h.StoreLogs([]*raft.Log{log}) }

func (h *handle) StoreLogs(logs []*raft.Log) error {
	h.write(func(c *content) {
		for _, l := range logs {
			c.logs[l.Index] = l
			if c.first == 0 {
				c.first = l.Index
			}
			c.last = max(c.last, l.Index)
		}
	})
	return nil
}

func (h *handle) DeleteRange(low, high uint64) error {
	h.write(func(c *content) { c.remove(low, high) })
	return nil
}

var errNotFound = errors.New("not found") // the text that raft looks for

func (h *handle) Set(k, v []byte) error {
	v = slices.Clone(v)
	h.write(func(c *content) { c.values[string(k)] = v })
	return nil
}

func (h *handle) Get(k []byte) (v []byte, err error) {
	h.read(func(c *content) {
		if v = c.values[string(k)]; v == nil {
			err = errNotFound
		}
	})
	return v, err
}

func (h *handle) SetUint64(k []byte, v uint64) error {
	h.write(func(c *content) { c.numbers[string(k)] = v })
	return nil
}

func (h *handle) GetUint64(k []byte) (v uint64, _ error) {
	h.read(func(c *content) { v = c.numbers[string(k)] })
	return v, nil
}

// memSnapshot is one snapshot. It is on the disk when it is complete.
type memSnapshot struct {
	h    *handle
	meta raft.SnapshotMeta
	data bytes.Buffer
}

func (h *handle) Create(version raft.SnapshotVersion, index, term uint64, conf raft.Configuration,
	confIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &memSnapshot{h: h, meta: raft.SnapshotMeta{
		Version: version, ID: fmt.Sprintf("%d-%d-%d", term, index, time.Now().UnixNano()), Index: index, Term: term,
		Configuration: conf, ConfigurationIndex: confIndex,
	}}, nil
}

func (h *handle) List() (metas []*raft.SnapshotMeta, _ error) {
	h.read(func(c *content) {
		for _, m := range c.snaps {
			meta := m.meta
			metas = append(metas, &meta)
		}
	})
	return metas, nil
}

func (h *handle) Open(id string) (meta *raft.SnapshotMeta, in io.ReadCloser, err error) {
	err = fmt.Errorf("open snapshot %s: %w", id, errNotFound)
	h.read(func(c *content) {
		for _, m := range c.snaps {
			if m.meta.ID == id {
				found := m.meta
				meta, in, err = &found, newReader(m.data.Bytes()), nil
			}
		}
	})
	return meta, in, err
}

func newReader(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

func (m *memSnapshot) ID() string                  { return m.meta.ID }
func (m *memSnapshot) Write(p []byte) (int, error) { return m.data.Write(p) }
func (m *memSnapshot) Cancel() error               { return nil }

func (m *memSnapshot) Close() error {
	m.meta.Size = int64(m.data.Len())
	m.h.write(func(c *content) {
		c.snaps = slices.Insert(slices.Clone(c.snaps), 0, m)
		c.snaps = c.snaps[:min(len(c.snaps), 3)]
	})
	return nil
}
