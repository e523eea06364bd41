package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"vigil/cluster/logstore"
	"vigil/cluster/record"
	"vigil/fsm"
	"vigil/fsm/noun"
)

// Inspection looks into the data of a server that does not run, and writes nothing. It belongs to one goroutine.
type Inspection struct {
	*logstore.Sight
	cfg Config
}

// Inspect opens the data in a directory for looking. Errors: those of logstore.Look. Close gives it back.
func Inspect(path string, logger hclog.Logger, defect func(*fsm.View, *fsm.Entry)) (*Inspection, error) {
	cfg := Config{Logger: logger, Defect: defect}
	cfg.setDefaults()
	sight, err := logstore.Look(path, cfg.Timing.Disk, cfg.Logger)
	if err != nil {
		return nil, err
	}
	cfg.ID = sight.Server
	return &Inspection{Sight: sight, cfg: cfg}, nil
}

// EntrySeen is a log entry, for people.
type EntrySeen struct {
	Index, Term uint64
	Kind        string // what it is: "commands", or what raft itself wrote
	Wall        noun.Wall
	Commands    []CommandSeen
	Beats       int    // hosts whose beats it holds
	Bytes       int    // that it takes
	Sum         string // SHA-256 of it, in hexadecimal digits
	Refused     bool   // it is passed over
	Unknown     string // why this version cannot read it
}

// CommandSeen is a command of an entry, for people.
type CommandSeen struct {
	Name string
	Text string // its fields; see Words
}

// Entry reads an entry; with texts it shows the words of people and agents, too.
func (i *Inspection) Entry(index uint64, texts bool) (seen EntrySeen, err error) {
	l, err := i.Log.Raw(index)
	if err != nil {
		return seen, err
	}
	seen = EntrySeen{Index: l.Index, Term: l.Term, Kind: "commands", Bytes: len(l.Data), Sum: logstore.Sum(&l)}
	if l.Type != raft.LogCommand {
		seen.Kind = map[raft.LogType]string{raft.LogNoop: "begin of a term", raft.LogBarrier: "barrier",
			raft.LogConfiguration: "members"}[l.Type]
		return seen, nil
	}
	for _, r := range i.Log.Refusals() {
		seen.Refused = seen.Refused || r.Index == l.Index && r.Term == l.Term
	}
	var e fsm.Entry
	if err := record.Decode(l.Data, &e); err != nil {
		seen.Unknown = err.Error()
		return seen, nil
	}
	seen.Wall, seen.Beats = e.Wall, len(e.Beats)
	for _, r := range e.Requests {
		seen.Commands = append(seen.Commands, CommandSeen{reflect.TypeOf(r.Cmd).Name(), Words(r.Cmd, texts)})
	}
	return seen, nil
}

// Object names an agent, a task or a host.
type Object struct {
	kind, name string
	id         uint64 // of a task; of the others as soon as they are met
}

// ParseObject reads agent/ROOM/ROLE, task/ID or host/NAME.
func ParseObject(text string) (Object, error) {
	kind, name, _ := strings.Cut(text, "/")
	switch o := (Object{kind: kind, name: name}); {
	case kind == "agent" && strings.Contains(name, "/"), kind == "host" && name != "":
		return o, nil
	case kind == "task":
		id, err := strconv.ParseUint(strings.TrimPrefix(name, "#"), 10, 64)
		if err == nil && id > 0 {
			o.id = id
			return o, nil
		}
	}
	return Object{}, fmt.Errorf("%q is no object: say agent/ROOM/ROLE, task/ID or host/NAME", text)
}

// History is what the log says of an object, and the state.
type History struct {
	From, To uint64 // entries that were applied; behind To one cannot be
	Entries  []EntryOf
	Broken   *BrokenInvariant // at which entry it ends
	Object   []string         // the object then, a field each; nil: there is none
}

// EntryOf is an entry that names an object.
type EntryOf struct {
	EntrySeen              // with the commands that name it only
	Events    []noun.Event // about it
}

// History applies the log to the newest snapshot, in memory, and gives what names an object. It is called once.
func (i *Inspection) History(o Object, texts bool) (*History, error) {
	m := &recovering{rec: &Recovery{}}
	var err error
	if m.machine, err = recoveredMachine(&i.cfg, i.Data, m); err != nil {
		return nil, err
	}
	h := &History{From: i.Index + 1, To: i.Index}
	for index := h.From; index <= i.Last; index++ {
		last := m.state.LastEvent()
		if err := m.replayOne(i.Data, index); err != nil {
			if errors.As(err, &h.Broken) {
				return h, nil // what the state holds now is not known
			}
			return nil, err
		}
		h.To = index
		view := &m.state.View
		o.find(view)
		seen, err := i.Entry(index, texts)
		if err != nil {
			return nil, err
		}
		one := EntryOf{EntrySeen: seen}
		if one.Commands, err = i.naming(index, o, texts); err != nil {
			return nil, err
		}
		named := len(one.Commands) > 0
		if !named && len(seen.Commands) == 1 {
			one.Commands = seen.Commands // what makes an object does not know its number
		}
		for e := range view.Events(last) {
			if o.of(e) {
				one.Events = append(one.Events, *e)
			}
		}
		if named || len(one.Events) > 0 {
			h.Entries = append(h.Entries, one)
		}
	}
	h.Object = o.fields(&m.state.View, texts)
	return h, nil
}

// naming gives the commands of an entry that name the object.
func (i *Inspection) naming(index uint64, o Object, texts bool) (list []CommandSeen, err error) {
	var l raft.Log
	if err := i.Log.GetLog(index, &l); err != nil || l.Type != raft.LogCommand {
		return nil, err
	}
	var e fsm.Entry
	if err := record.Decode(l.Data, &e); err != nil {
		return nil, err
	}
	for _, r := range e.Requests {
		if o.named(reflect.ValueOf(r.Cmd)) {
			list = append(list, CommandSeen{reflect.TypeOf(r.Cmd).Name(), Words(r.Cmd, texts)})
		}
	}
	return list, nil
}

// find notes the number of the object once the state has it.
func (o *Object) find(v *fsm.View) {
	if o.id != 0 {
		return
	}
	switch o.kind {
	case "agent":
		if a := v.AgentByName(o.name); a != nil {
			o.id = uint64(a.ID)
		}
	case "host":
		for h := range v.Hosts() {
			if h.Name == o.name {
				o.id = uint64(h.ID)
			}
		}
	}
}

func (o *Object) of(e *noun.Event) bool {
	switch o.kind {
	case "agent":
		return e.Agent == o.name
	case "task":
		return uint64(e.Task) == o.id
	}
	return e.Host == o.name
}

// named tells whether a value names the object somewhere, by its number or its name.
func (o *Object) named(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if o.named(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false
		}
		for i := range v.Len() {
			if o.named(v.Index(i)) {
				return true
			}
		}
	case reflect.String:
		return o.kind != "task" && v.String() == o.name
	case reflect.Uint32, reflect.Uint64:
		return o.id != 0 && v.Uint() == o.id && v.Type() == o.idType()
	}
	return false
}

func (o *Object) idType() reflect.Type {
	switch o.kind {
	case "agent":
		return reflect.TypeFor[noun.AgentID]()
	case "task":
		return reflect.TypeFor[noun.TaskID]()
	}
	return reflect.TypeFor[noun.HostID]()
}

// fields gives the object as the state has it; nil: it has none.
func (o *Object) fields(v *fsm.View, texts bool) []string {
	o.find(v)
	switch o.kind {
	case "agent":
		if a := v.AgentByName(o.name); a != nil {
			return fieldsOf(reflect.ValueOf(*a), texts)
		}
	case "task":
		if t := v.Task(noun.TaskID(o.id)); t != nil {
			return fieldsOf(reflect.ValueOf(*t), texts)
		}
	case "host":
		if h := v.Host(noun.HostID(o.id)); h != nil {
			return fieldsOf(reflect.ValueOf(*h), texts)
		}
	}
	return nil
}
