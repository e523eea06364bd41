package fsm

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"slices"

	"vigil/fsm/image"
	"vigil/fsm/noun"
)

// ErrDamaged says that a dump cannot be trusted: nothing of it was used.
var ErrDamaged = image.ErrDamaged

// ErrNewer says that a dump was written by a newer version of vigil.
var ErrNewer = image.ErrNewer

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
func (i *Image) Dump(w io.Writer) error { return image.Write(w, i.schema(), &i.meta, i.tables()) }

// Hash is the SHA-256 of the dump: equal on all servers at the same index.
func (i *Image) Hash() [32]byte {
	h := sha256.New()
	if err := i.Dump(h); err != nil {
		panic("fsm: hashing cannot fail: " + err.Error())
	}
	return [32]byte(h.Sum(nil))
}

// tables lists the tables as a dump has them. Numbers are never used twice.
func (i *Image) tables() []image.Table {
	return []image.Table{
		image.Of(1, i.rooms.From, i.rooms.Put, nil),
		image.Of(2, i.roles.From, i.roles.Put, nil),
		image.Of(3, i.agents.From, i.agents.Put, nil),
		image.Of(4, i.leases.From, i.leases.Put, nil),
		image.Of(5, i.tasks.From, i.tasks.Put, nil),
		image.Of(6, i.hosts.From, i.hosts.Put, nil),
		image.Of(7, i.sessions.From, i.sessions.Put, inOrder),
		image.Of(8, i.events.From, i.events.Put, nil),
		image.Of(9, i.mails.From, i.mails.Put, nil),
		image.Of(10, i.escalations.From, i.escalations.Put, nil),
	}
}

// inOrder sorts answers, whose order in memory depends on which server restored a snapshot when.
func inOrder(ss noun.Session) noun.Session {
	ss.Answers = slices.Clone(ss.Answers)
	slices.SortFunc(ss.Answers, func(a, b noun.Answer) int { return cmp.Compare(a.Seq, b.Seq) })
	return ss
}

// Load reads a dump and builds the indexes. On any error (ErrDamaged, ErrNewer, or
// what the reader says) there is no state.
func Load(r io.Reader) (*State, error) {
	s := New()
	s.meta = meta{Settings: noun.DefaultSettings()} // those that were added since
	if err := image.Read(r, dumped, &s.meta, s.tables()); err != nil {
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
