package fsm

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"slices"

	"vigil/fsm/core"
	"vigil/fsm/image"
	"vigil/fsm/noun"
)

// ErrDamaged says that a dump cannot be trusted: nothing of it was used.
var ErrDamaged = image.ErrDamaged

// ErrNewer says that a dump was written by a newer version of vigil.
var ErrNewer = image.ErrNewer

// dumped are the types of a dump, in the order of their fields counts.
var dumped = []reflect.Type{
	reflect.TypeFor[core.Meta](), reflect.TypeFor[noun.Room](), reflect.TypeFor[noun.Role](),
	reflect.TypeFor[noun.Agent](),
	reflect.TypeFor[noun.Lease](), reflect.TypeFor[noun.Task](), reflect.TypeFor[noun.Host](),
	reflect.TypeFor[noun.Session](),
	reflect.TypeFor[noun.Event](), reflect.TypeFor[noun.Stint](), reflect.TypeFor[noun.Settings](),
	reflect.TypeFor[noun.Server](),
	reflect.TypeFor[noun.MarkReport](), reflect.TypeFor[noun.KV](), reflect.TypeFor[noun.RoleSpec](),
	reflect.TypeFor[noun.LateResult](), reflect.TypeFor[noun.Held](),
	reflect.TypeFor[noun.Exit](), reflect.TypeFor[noun.Answer](), reflect.TypeFor[noun.Outcome](),
	reflect.TypeFor[noun.HostView](), reflect.TypeFor[noun.Brake](), reflect.TypeFor[noun.BrakeTick](),
	reflect.TypeFor[noun.Tombstone](),
	reflect.TypeFor[noun.Notes](),
	reflect.TypeFor[noun.Declaration](),
	reflect.TypeFor[noun.Mail](),
	reflect.TypeFor[noun.RoomWatch](), reflect.TypeFor[noun.Watchdog](), reflect.TypeFor[noun.WatchdogSettings](),
	reflect.TypeFor[noun.Cancellation](),
	reflect.TypeFor[noun.Escalation](), reflect.TypeFor[noun.Notice](), reflect.TypeFor[noun.Delivery](),
	reflect.TypeFor[noun.Escalations](), reflect.TypeFor[noun.EscalationSettings](),
	reflect.TypeFor[noun.Ladder](), reflect.TypeFor[noun.LadderSettings](), reflect.TypeFor[noun.LadderWindow](),
	reflect.TypeFor[noun.Plan](),
	reflect.TypeFor[noun.Screen](),
	reflect.TypeFor[noun.HostTerminal](), reflect.TypeFor[noun.PromptSettings](),
	reflect.TypeFor[noun.Chain](),
	reflect.TypeFor[noun.OverseerSpec](), reflect.TypeFor[noun.ChainSettings](),
	reflect.TypeFor[noun.BudgetSettings](),
	reflect.TypeFor[noun.Retry](), reflect.TypeFor[noun.Failure](), reflect.TypeFor[noun.RetrySettings](),
	reflect.TypeFor[noun.Ending](), reflect.TypeFor[noun.HalfOpen](), reflect.TypeFor[noun.Probe](),
	reflect.TypeFor[noun.Probed](), reflect.TypeFor[noun.End](), reflect.TypeFor[noun.Ends](),
	reflect.TypeFor[noun.Trust](), reflect.TypeFor[noun.Root](), reflect.TypeFor[noun.Token](),
	reflect.TypeFor[noun.Credential](), reflect.TypeFor[noun.Binding](), reflect.TypeFor[noun.User](),
	reflect.TypeFor[noun.APIToken](),
	reflect.TypeFor[noun.Ring](), reflect.TypeFor[noun.RingKey](), reflect.TypeFor[noun.RingAck](),
	reflect.TypeFor[noun.Audit](),
	reflect.TypeFor[noun.UsageHour](), reflect.TypeFor[noun.Usage](), reflect.TypeFor[noun.SpendLimit](),
	reflect.TypeFor[noun.Spent](), reflect.TypeFor[noun.LifeUsage](),
	reflect.TypeFor[noun.Typist](),
	reflect.TypeFor[noun.Refusal](),
	reflect.TypeFor[noun.HostKept](),
	reflect.TypeFor[noun.Sweep](),
}

// Image is everything that is replicated: what a snapshot holds and what the servers' hashes
// cover. The Image that State.Copy returns never changes.
type Image core.Image

// Index is the log index of the last entry that the image holds.
func (i *Image) Index() uint64 { return i.Meta.Index }

// Dump writes the image; equal images give equal bytes. It may run while the
// state that the image was copied from moves on.
func (i *Image) Dump(w io.Writer) error { return image.Write(w, i.schema(), &i.Meta, i.tables()) }

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
		image.Of(1, i.RoomTable.From, i.RoomTable.Put, nil),
		image.Of(2, i.RoleTable.From, i.RoleTable.Put, nil),
		image.Of(3, i.AgentTable.From, i.AgentTable.Put, nil),
		image.Of(4, i.LeaseTable.From, i.LeaseTable.Put, nil),
		image.Of(5, i.TaskTable.From, i.TaskTable.Put, nil),
		image.Of(6, i.HostTable.From, i.HostTable.Put, nil),
		image.Of(7, i.SessionTable.From, i.SessionTable.Put, inOrder),
		image.Of(8, i.EventTable.From, i.EventTable.Put, nil),
		image.Of(9, i.MailTable.From, i.MailTable.Put, nil),
		image.Of(10, i.EscalationTable.From, i.EscalationTable.Put, nil),
		image.Of(11, i.TokenTable.From, i.TokenTable.Put, nil),
		image.Of(12, i.CredentialTable.From, i.CredentialTable.Put, nil),
		image.Of(13, i.UserTable.From, i.UserTable.Put, nil),
		image.Of(14, i.APITokenTable.From, i.APITokenTable.Put, nil),
		image.Of(15, i.AuditTable.From, i.AuditTable.Put, nil),
	}
}

// inOrder sorts answers, whose order in memory depends on which server restored a snapshot when.
func inOrder(ss noun.Session) noun.Session {
	ss.Answers = slices.Clone(ss.Answers)
	slices.SortFunc(ss.Answers, func(a, b noun.Answer) int { return cmp.Compare(a.Seq, b.Seq) })
	return ss
}

// Copy returns an immutable view of everything replicated. It costs a few
// microseconds whatever the size; later writes copy the pages they touch.
func (s *State) Copy() *Image { return (*Image)(s.State.Copy()) }

// Load reads a dump and builds the indexes. On any error (ErrDamaged, ErrNewer, or
// what the reader says) there is no state.
func Load(r io.Reader) (*State, error) {
	s := New()
	s.State.Meta = core.Meta{Settings: noun.DefaultSettings()} // those that were added since
	if err := image.Read(r, dumped, &s.State.Meta, s.image().tables()); err != nil {
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
	s.State.Rebuild()
	return nil
}

// addition is what a feature level adds to dumps. Until the level begins a dump is what older
// versions write, byte by byte: servers of two versions have equal hashes of equal states and
// read each other's snapshots.
type addition struct {
	level  uint32
	types  int                  // how many of the types in dumped came before it
	fields map[reflect.Type]int // of the types with new fields: how many fields came before
}

// added are the additions above the baseline, by level.
var added = []addition{
	{core.LevelRetry, typesBefore[noun.Retry](), map[reflect.Type]int{
		reflect.TypeFor[noun.Task]():             fieldsBefore[noun.Task]("Retry"),
		reflect.TypeFor[noun.Agent]():            fieldsBefore[noun.Agent]("RoleRev"),
		reflect.TypeFor[noun.Lease]():            fieldsBefore[noun.Lease]("Confirm"),
		reflect.TypeFor[noun.Role]():             fieldsBefore[noun.Role]("Endings"),
		reflect.TypeFor[noun.RoleSpec]():         fieldsBefore[noun.RoleSpec]("RetryFirst"),
		reflect.TypeFor[noun.Outcome]():          fieldsBefore[noun.Outcome]("Why"),
		reflect.TypeFor[noun.Settings]():         fieldsBefore[noun.Settings]("Retry"),
		reflect.TypeFor[noun.Room]():             fieldsBefore[noun.Room]("Lived"),
		reflect.TypeFor[noun.RoomWatch]():        fieldsBefore[noun.RoomWatch]("Untaken"),
		reflect.TypeFor[noun.WatchdogSettings](): fieldsBefore[noun.WatchdogSettings]("Untaken"),
		reflect.TypeFor[core.Meta]():             fieldsBefore[core.Meta]("PauseEnd"),
		reflect.TypeFor[noun.Notes]():            fieldsBefore[noun.Notes]("Ends"),
		reflect.TypeFor[noun.Host]():             fieldsBefore[noun.Host]("DrainEnd"),
		reflect.TypeFor[noun.BudgetSettings]():   fieldsBefore[noun.BudgetSettings]("Trust"),
		reflect.TypeFor[noun.Server]():           fieldsBefore[noun.Server]("Zone"),
		reflect.TypeFor[noun.Ladder]():           fieldsBefore[noun.Ladder]("Episodes"),
		reflect.TypeFor[noun.Cancellation]():     fieldsBefore[noun.Cancellation]("Swept"),
		reflect.TypeFor[noun.Escalation]():       fieldsBefore[noun.Escalation]("FailedLeft"),
		reflect.TypeFor[noun.Declaration]():      fieldsBefore[noun.Declaration]("Called"),
		reflect.TypeFor[noun.Screen]():           fieldsBefore[noun.Screen]("Closed"),
	}},
}

// typesBefore counts the types of a dump before this one, fieldsBefore the fields of a type
// before the one named.
func typesBefore[T any]() int { return slices.Index(dumped, reflect.TypeFor[T]()) }

func fieldsBefore[T any](name string) int {
	f, ok := reflect.TypeFor[T]().FieldByName(name)
	if !ok {
		panic("fsm: no field " + name)
	}
	return f.Index[0]
}

// schema gives the types that a dump of this image names, and which of their fields it has.
func (i *Image) schema() image.Schema {
	for at, a := range added {
		if a.level <= i.Meta.Level {
			continue
		}
		return image.Schema{Types: dumped[:a.types], Fields: func(t reflect.Type) int {
			for _, a := range added[at:] { // the lowest that changes the type
				if n, ok := a.fields[t]; ok {
					return n
				}
			}
			return t.NumField()
		}}
	}
	return image.Schema{Types: dumped, Fields: reflect.Type.NumField}
}

// image is the state's own image, which goes on changing.
func (s *State) image() *Image { return (*Image)(&s.Image) }

// Hash is the hash of the image as it is now.
func (s *State) Hash() [32]byte { return s.image().Hash() }
