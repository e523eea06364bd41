package noun

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Usage is what was used, as AI tools tell it of themselves. It is a measure for brakes, no account.
type Usage struct {
	Input, Output, Cache uint64 // tokens; Cache are those read from one, which no budget counts
	MicroUSD             uint64 // millionths of a dollar
	Tools                uint64 // uses of tools
}

// Tokens are those that budgets count.
func (u Usage) Tokens() uint64 { return u.Input + u.Output }

// Plus adds two usages; what would overflow stays at the greatest number.
func (u Usage) Plus(o Usage) Usage {
	return u.with(o, func(a, b uint64) uint64 { return a + min(b, MaxUsage-min(a, MaxUsage)) })
}

// Since is by how much u is more than o.
func (u Usage) Since(o Usage) Usage {
	return u.with(o, func(a, b uint64) uint64 { return max(a, b) - b })
}

// Most is the greater of each figure, Least the smaller.
func (u Usage) Most(o Usage) Usage  { return u.with(o, func(a, b uint64) uint64 { return max(a, b) }) }
func (u Usage) Least(o Usage) Usage { return u.with(o, func(a, b uint64) uint64 { return min(a, b) }) }

func (u Usage) with(o Usage, f func(a, b uint64) uint64) Usage {
	return Usage{f(u.Input, o.Input), f(u.Output, o.Output), f(u.Cache, o.Cache), f(u.MicroUSD, o.MicroUSD),
		f(u.Tools, o.Tools)}
}

// Limits of usage.
const (
	// MaxUsage bounds every sum.
	MaxUsage = 1 << 62
	// UsageHours is how many hours of cluster time a window has beside the one under way.
	UsageHours = 24
	// ToolKinds is how many kinds of tools are told apart.
	ToolKinds = 8
	// UsageSpan is the longest time for which one report may count: silence does not save up.
	UsageSpan = 10 * time.Minute
	// UsageRest is the shortest time between two reports about one life after which one that says too much is not
	// believed; before that what is too much is left to the next one.
	UsageRest = time.Second
)

// UsageRate is the most that one life can use in a minute: more was never seen of any tool, and whoever
// says more lies.
var UsageRate = Usage{Input: 10_000_000, Output: 1_000_000, Cache: 100_000_000, MicroUSD: 200_000_000, Tools: 6000}

// UsageIn is the most that one life can use in so long.
func UsageIn(d time.Duration) Usage {
	d = min(max(d, 0), UsageSpan)
	return UsageRate.with(Usage{}, func(a, _ uint64) uint64 { return a * uint64(d/time.Millisecond) / 60_000 })
}

// UsageHour is what was used in one hour of cluster time, counted from its beginning.
type UsageHour struct {
	Hour                                  uint64
	Input, Output, Cache, MicroUSD, Tools uint64
}

// Usage gives the figures of an hour.
func (h UsageHour) Usage() Usage { return Usage{h.Input, h.Output, h.Cache, h.MicroUSD, h.Tools} }

// HourOf is the hour that a time is in.
func HourOf(t Time) uint64 { return uint64(max(t, 0)) / uint64(time.Hour) }

// Day is what was used in the hour under way and the UsageHours before it: hours with usage, the oldest
// first. Replaced, never changed.
type Day []UsageHour

// At gives what of it still counts at a time.
func (d Day) At(now Time) Day {
	for len(d) > 0 && d[0].Hour+UsageHours < HourOf(now) {
		d = d[1:]
	}
	return d
}

// Sum is what was used in the window that ends at a time.
func (d Day) Sum(now Time) (sum Usage) {
	for _, h := range d.At(now) {
		sum = sum.Plus(h.Usage())
	}
	return sum
}

// With gives the day with something used now.
func (d Day) With(now Time, u Usage) Day {
	d = slices.Clone(d.At(now))
	if n := len(d); n == 0 || d[n-1].Hour != HourOf(now) {
		d = append(d, UsageHour{Hour: HourOf(now)})
	}
	last := &d[len(d)-1]
	sum := last.Usage().Plus(u)
	*last = UsageHour{last.Hour, sum.Input, sum.Output, sum.Cache, sum.MicroUSD, sum.Tools}
	return d
}

// SpendLimit is a budget for what is used in the sliding window. 0: none.
type SpendLimit struct {
	Tokens   uint64
	MicroUSD uint64
}

// MaxSpend bounds a budget, in tokens or millionths of a dollar.
const MaxSpend = 1 << 50

// CheckSpend tells what is wrong with a budget.
func CheckSpend(l SpendLimit) error {
	if l.Tokens > MaxSpend || l.MicroUSD > MaxSpend {
		return errors.New("budget: more than anybody can use; leave it out for none")
	}
	return nil
}

// Stage is how far a budget is used up. The numbers are written to disk.
type Stage uint8

// Stages of a budget.
const (
	StageFree   Stage = iota
	StageWarned       // four fifths are used
	StageOut          // all of it is used: nothing new is started or claimed
)

var stageNames = [...]string{"free", "warned", "out"}

func (s Stage) String() string { return stageNames[s] }

// Stage tells how far u uses up the budget.
func (l SpendLimit) Stage(u Usage) Stage {
	return max(stageOf(u.Tokens(), l.Tokens), stageOf(u.MicroUSD, l.MicroUSD))
}

func stageOf(used, limit uint64) Stage {
	switch {
	case limit == 0 || used < limit/5*4+limit%5*4/5:
		return StageFree
	case used < limit:
		return StageWarned
	}
	return StageOut
}

// Text says how much of the budget is used.
func (l SpendLimit) Text(u Usage) string {
	text := ""
	if l.Tokens > 0 {
		text = fmt.Sprintf("%d of %d tokens", u.Tokens(), l.Tokens)
	}
	if l.MicroUSD > 0 {
		if text != "" {
			text += " and "
		}
		text += fmt.Sprintf("%s of %s USD", Dollars(u.MicroUSD), Dollars(l.MicroUSD))
	}
	return text
}

// Dollars writes an amount of money with two digits behind the point.
func Dollars(micro uint64) string {
	return fmt.Sprintf("%d.%02d", micro/1_000_000, micro%1_000_000/10_000)
}

// Spent is what a room or a role has used, and how its budget stands. Replaced, never changed.
type Spent struct {
	Day    Day
	Stage  Stage
	Lifted Time // a human has lifted the budget until then; 0: nobody has
	By     string
	Armed  Time // its timer; 0: none
}

// Unlifted is the same, of a budget that nobody has lifted.
func (p *Spent) Unlifted() *Spent {
	if p == nil || p.Lifted == 0 {
		return p
	}
	next := *p
	next.Lifted, next.By = 0, ""
	return &next
}

// UsedTokens tells that the present life has told of tokens that it has used.
func (a *Agent) UsedTokens() bool {
	u := a.Notes().Used
	return u != nil && u.Inc == a.Inc && u.Life.Tokens() > 0
}

// LifeUsage is what an agent has used. Replaced, never changed.
type LifeUsage struct {
	Inc   Incarnation // of the life that has reported last
	Run   uint64      // which of its host's daemons has counted Seen
	Seen  Usage       // what that daemon has told of this life
	At    Time        // when
	Tool  Time        // when a use of a tool by this life was told last; 0: never
	Life  Usage       // what this life has used
	Kinds []uint64    // how often it has used tools, by kind
	// Clamped is how often the agent has reported more than can be.
	Clamped uint64
	Day     Day
	Stage   Stage
	// Task is what the life holds or has held last, once it has told of usage: what is told counts for that, though
	// some of it may have been used for the one before.
	Task TaskID
	// Worked is when it told last of anything that this life has used, tokens or tools; 0: never.
	Worked Time
}

// SpentOut tells that the agent has used up its own budget.
func (a *Agent) SpentOut() bool {
	u := a.Notes().Used
	return u != nil && u.Stage == StageOut
}

// ToolCall is how long a call of a tool may take that nobody has announced. Telemetry tells of a call at its end, so
// an agent is silent that long when it has a large project built or tested.
const ToolCall = 30 * time.Minute

// ToolUntil is until when a life that has told of what it uses may be in a call of a tool; 0: it has told of nothing.
func (a *Agent) ToolUntil() Time {
	u := a.Notes().Used
	if u == nil || u.Inc != a.Inc || u.Worked == 0 {
		return 0
	}
	return u.Worked.Add(ToolCall)
}
