package telemetry

import (
	"crypto/sha256"
	"math"
	"sync"
	"time"
)

const (
	// maxSeries bounds the series of a life that are told apart; points of further ones are left out.
	maxSeries = 4096
	// maxPoints bounds the points that are read of one message, maxAttributes what tells one of them, or their
	// resource, from others: an empty one of either has two bytes in a message.
	maxPoints     = 1 << 14
	maxAttributes = 1024
	// maxPoint bounds what one point may say, in tokens, uses or dollars.
	maxPoint = 1e12
	// bodiesKept is how many of the last messages of a life are known again when they are repeated.
	bodiesKept = 256
)

// kind is what is measured; of each only one source counts in a life, so that nothing counts twice.
type kind uint8

const (
	kindTokens kind = iota
	kindCost
	kindTools
	kindsPlus
)

// source is who measures.
type source uint8

const (
	noSource source = iota
	claudeCode
	geminiCLI
	codex
	sdk         // programs by an SDK of vigil
	conventions // the semantic conventions of OpenTelemetry for generative AI
)

// withCache tells that what a source counts as input holds what was read from a cache.
func (s source) withCache() bool { return s == geminiCLI || s == codex }

// field is where a number belongs.
type field uint8

const (
	fieldInput field = iota
	fieldOutput
	fieldCache
	fieldCost
	fieldTool
)

func (f field) kind() kind {
	switch f {
	case fieldCost:
		return kindCost
	case fieldTool:
		return kindTools
	}
	return kindTokens
}

// sums are what one life has used, as told.
type sums struct {
	sources [kindsPlus]source
	tokens  [3]float64 // by field
	cost    float64
	tools   [ToolsPlus]uint64
}

// meter adds up what one life has used.
type meter struct {
	// What follows, up to counted, belongs to whoever holds counting, which is taken before the receiver's lock.
	counting sync.Mutex

	// since is when this receiver began to hear the life, by the machine's clock, zero for one that began
	// under it: of what a series of a taken over life says that began before, nothing is known to be new.
	since time.Time

	sums

	series map[[sha256.Size]byte]float64 // cumulative ones: the last value
	bodies map[[sha256.Size]byte]struct{}
	order  [bodiesKept][sha256.Size]byte // a ring of the keys of bodies
	next   int

	// counted is a copy, made when the last message had been counted. It and what follows belong to whoever holds
	// the receiver's lock, which nobody keeps for a message.
	counted sums
	input   float64 // the largest that was shown

	left  float64 // messages that may come at once
	asked time.Time

	underway int // messages that arrive or are read
}

func newMeter(since time.Time) *meter {
	return &meter{since: since, series: map[[sha256.Size]byte]float64{}, bodies: map[[sha256.Size]byte]struct{}{}}
}

// again tells whether a message came before: a sender that heard no answer repeats it.
func (m *meter) again(body [sha256.Size]byte) bool {
	_, known := m.bodies[body]
	return known
}

// took notes a message of which everything was counted.
func (m *meter) took(body [sha256.Size]byte) {
	delete(m.bodies, m.order[m.next])
	m.order[m.next], m.bodies[body] = body, struct{}{}
	m.next = (m.next + 1) % bodiesKept
}

// counts tells whether this source measures its kind in this life. The first one does.
func (m *meter) counts(s source, k kind) bool {
	if m.sources[k] == noSource {
		m.sources[k] = s
	}
	return m.sources[k] == s
}

// grown gives by how much a cumulative series has grown; start is when it began, 0: it does not say. false
// when there are too many series.
func (m *meter) grown(key [sha256.Size]byte, value float64, start uint64) (float64, bool) {
	last, known := m.series[key]
	if !known && len(m.series) >= maxSeries {
		return 0, false
	}
	m.series[key] = max(last, value)
	if !known && !m.since.IsZero() && (start == 0 || start > math.MaxInt64 || int64(start) < m.since.UnixNano()) {
		return 0, true // the receiver before this one has counted it
	}
	return max(value-last, 0), true
}

// add counts something, if its source does. Whatever is no sensible number counts nothing.
func (m *meter) add(s source, f field, tool Tool, value float64) {
	if !(value > 0) || value > maxPoint || !m.counts(s, f.kind()) {
		return
	}
	switch f {
	case fieldCost:
		m.cost = min(m.cost+value, maxPoint)
	case fieldTool:
		m.tools[tool] += uint64(value)
	default:
		m.tokens[f] = min(m.tokens[f]+value, 1e15)
	}
}

// total gives what the life has used by now.
func (m *meter) total() Usage {
	s := &m.counted
	input := s.tokens[fieldInput]
	if s.sources[kindTokens].withCache() {
		input -= s.tokens[fieldCache] // it may come before what it is part of
	}
	m.input = max(m.input, input)
	return Usage{Input: uint64(m.input), Output: uint64(s.tokens[fieldOutput]), Cache: uint64(s.tokens[fieldCache]),
		MicroUSD: uint64(math.Round(s.cost * 1e6)), Tools: s.tools}
}

// Bounds on the messages of a life: so many at once, and so many a second.
const (
	burst   = 100
	everyMS = 50
)

// may tells whether one more message is taken now.
func (m *meter) may(now time.Time) bool {
	if m.asked.IsZero() {
		m.left = burst
	} else {
		m.left = min(burst, m.left+float64(now.Sub(m.asked).Milliseconds())/everyMS)
	}
	m.asked = now
	if m.left < 1 {
		return false
	}
	m.left--
	return true
}
