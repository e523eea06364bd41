package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"vigil/fsm/core"
	"vigil/fsm/image"
	"vigil/fsm/noun"
)

var updateFlag = flag.Bool("update", false, "write testdata anew from what the code does")

// lived is a state in which a bit of everything has happened.
func lived(t testing.TB, seed uint64, entries int) *State {
	t.Helper()
	c, s := newChaos(seed, true), New()
	for _, e := range c.opening() {
		s.Apply(e)
	}
	for range entries {
		s.Apply(c.next(s))
	}
	return s
}

// blocks gives the offsets at which the blocks of a dump begin, and its end.
func blocks(p []byte) []int {
	at := []int{len(image.Magic)}
	for at[len(at)-1] < len(p) {
		last := at[len(at)-1]
		at = append(at, last+8+int(binary.LittleEndian.Uint64(p[last:]))+4)
	}
	return at
}

func TestLoadRefusesTruncatedDumps(t *testing.T) {
	p := dump(t, lived(t, 3, 800).Copy())
	at := blocks(p)
	if len(at) < 10 {
		t.Fatalf("only %d blocks", len(at))
	}
	for _, b := range at {
		for _, cut := range []int{b - 5, b - 1, b, b + 1, b + 8, b + 9} {
			if cut < 0 || cut >= len(p) {
				continue
			}
			if _, err := Load(bytes.NewReader(p[:cut])); !errors.Is(err, ErrDamaged) {
				t.Fatalf("cut at %d of %d: %v", cut, len(p), err)
			}
		}
	}
}

func TestLoadRefusesFlippedBits(t *testing.T) {
	p := dump(t, lived(t, 3, 800).Copy())
	step := max(1, len(p)/4000)
	for i := 0; i < len(p); i += step {
		bad := bytes.Clone(p)
		bad[i] ^= 1 << (i % 8)
		if _, err := Load(bytes.NewReader(bad)); !errors.Is(err, ErrDamaged) {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i, err)
		}
	}
}

// reseal makes the checksums of a dump right again, so that what is behind them is
// tested too.
func reseal(p []byte) []byte {
	p = bytes.Clone(p)
	if len(p) < len(image.Magic) {
		return p
	}
	for at := len(image.Magic); at+12 <= len(p); {
		n := binary.LittleEndian.Uint64(p[at:])
		if n > uint64(len(p)-at-12) {
			n = uint64(len(p) - at - 12)
			binary.LittleEndian.PutUint64(p[at:], n)
		}
		end := at + 8 + int(n)
		binary.LittleEndian.PutUint32(p[end:], crc32.Checksum(p[at+8:end], crc32.MakeTable(crc32.Castagnoli)))
		at = end + 4
	}
	return p
}

// withSchema gives a dump with another schema block.
func withSchema(p []byte, change func([]byte) []byte) []byte {
	at := blocks(p)
	schema := change(bytes.Clone(p[at[0]+8 : at[1]-4]))
	out := append([]byte(image.Magic), make([]byte, 8)...)
	binary.LittleEndian.PutUint64(out[len(image.Magic):], uint64(len(schema)))
	out = append(append(out, schema...), 0, 0, 0, 0)
	return reseal(append(out, p[at[1]:]...))
}

func TestLoadTellsNewerDumps(t *testing.T) {
	s := New()
	s.State.Meta.Level = core.Newest
	p := dump(t, s.Copy())
	for name, change := range map[string]func([]byte) []byte{
		"a field more": func(s []byte) []byte { s[3]++; return s },
		"a type more":  func(s []byte) []byte { return append(s, 3) },
	} {
		if _, err := Load(bytes.NewReader(withSchema(p, change))); !errors.Is(err, ErrNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const golden = "testdata/golden.dump"

// The dump that was written first is read by every later version.
func TestLoadReadsTheGoldenDump(t *testing.T) {
	if *updateFlag {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, dump(t, lived(t, 7, 120).Copy()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load(bytes.NewReader(p))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	if s.LastIndex() != 125 || s.Room("r") == nil || s.Settings().SessionTTL == 0 {
		t.Fatalf("index %d, room %v", s.LastIndex(), s.Room("r"))
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(dump(f, New().Copy()))
	p := dump(f, lived(f, 5, 60).Copy())
	f.Add(p)
	f.Add(p[:len(p)/2])
	f.Add([]byte(image.Magic + "\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, p []byte) {
		for _, p := range [][]byte{p, reseal(p)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s, err := Load(bytes.NewReader(p))
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20+uint64(len(p))*64 {
				t.Fatalf("%d bytes allocated for %d bytes", got, len(p))
			}
			switch {
			case err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer):
				t.Fatalf("error %v", err)
			case err == nil:
				s.Copy().Hash()
			}
		}
	})
}

func FuzzUnpackBeats(f *testing.F) {
	f.Add(PackBeats(nil, []noun.AgentID{1, 2, 900, 3}, []noun.Incarnation{1, 2, noun.MakeIncarnation(3, 4), 1},
		[]uint8{1, 2, 4, 7}))
	f.Add([]byte{0x80, 0x80})
	f.Fuzz(func(t *testing.T, p []byte) {
		var agents []noun.AgentID
		var incs []noun.Incarnation
		var kinds []uint8
		for b := range UnpackBeats(p) {
			agents, incs, kinds = append(agents, b.Agent), append(incs, b.Inc), append(kinds, b.Kinds)
		}
		n, ok := ValidBeats(p)
		if n != len(agents) {
			t.Fatalf("%d beats counted, %d unpacked", n, len(agents))
		}
		packed := PackBeats(nil, agents, incs, kinds)
		if m, again := ValidBeats(packed); !again || m != n {
			t.Fatalf("%d beats packed, %d came back (%v, whole: %v)", n, m, again, ok)
		}
		i := 0
		for b := range UnpackBeats(packed) {
			if b != (Beat{Agent: agents[i], Inc: incs[i], Kinds: kinds[i]}) {
				t.Fatalf("beat %d: %+v", i, b)
			}
			i++
		}
		s := New() // beats of nobody do no harm
		s.Apply(&Entry{Index: 1, Beats: []HostBeats{{Packed: p}}})
	})
}
