package record

import (
	"fmt"
	"reflect"
	"slices"

	"vigil/fsm"
)

// kinds has every record: one list a subject, one entry a command, with its number in the log
// and the one description of its fields. A new command is one entry more, a message in log.proto
// and a golden file.
var kinds = slices.Concat(servers, rooms, words, hosts, watch, trust)

var (
	byType   = indexTypes(kinds)
	byNumber = indexNumbers(kinds)
)

const (
	firstCommand = 10  // the smallest number of a command; a request's own fields are below
	lastCommand  = 119 // the largest that any version has used so far, and some room
)

// kind is one kind of record.
type kind struct {
	number number
	typ    reflect.Type // of the command; its name is that of the message in log.proto
	put    func(*wire, fsm.Command)
	get    func(*wire) fsm.Command
}

// of makes the kind of the command T from a description of its fields.
func of[T fsm.Command](n number, fields func(*wire, *T)) kind {
	return kind{
		number: n,
		typ:    reflect.TypeFor[T](),
		put: func(w *wire, cmd fsm.Command) {
			c := cmd.(T)
			at := w.open(n)
			fields(w, &c)
			w.close(at)
		},
		get: func(w *wire) fsm.Command {
			c := new(T)
			for w.pass() {
				fields(w, c)
			}
			return *c
		},
	}
}

func indexTypes(kinds []kind) map[reflect.Type]*kind {
	index := make(map[reflect.Type]*kind, len(kinds))
	for i := range kinds {
		index[kinds[i].typ] = &kinds[i]
	}
	return index
}

func indexNumbers(kinds []kind) (index [lastCommand + 1]*kind) {
	for i := range kinds {
		index[kinds[i].number] = &kinds[i]
	}
	return index
}

// command encodes cmd as a field of the request.
func (w *wire) command(cmd fsm.Command) error {
	k := byType[reflect.TypeOf(cmd)]
	if k == nil {
		return fmt.Errorf("encode command: %w: %T", ErrUnknown, cmd)
	}
	k.put(w, cmd)
	return nil
}

// known decodes the current field, which has the number of a command.
func (w *wire) known() fsm.Command {
	if w.num > lastCommand || byNumber[w.num] == nil {
		w.err = fmt.Errorf("%w: command %d", ErrUnknown, w.num)
		return nil
	}
	k := byNumber[w.num]
	saved := w.enter(w.b)
	cmd := k.get(w)
	w.cursor = saved
	w.next()
	return cmd
}
