package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"vigil/fsm"
	"vigil/fsm/noun"
)

// commands has one of each kind, without its fields.
func commands() []fsm.Command {
	list := make([]fsm.Command, len(kinds))
	for i, k := range kinds {
		list[i] = reflect.Zero(k.typ).Interface().(fsm.Command)
	}
	return list
}

// fill sets every field of v to a random value that is not zero.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.String:
		v.SetString(strings.Repeat(fmt.Sprintf("ä%d ", r.IntN(1000)), 1+r.IntN(60)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		bits := v.Type().Bits()
		v.SetInt((r.Int64() | 1) >> (64 - bits + r.IntN(bits-1)) * int64(1-2*r.IntN(2)))
		if v.Int() == 0 {
			v.SetInt(-1)
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		bits := v.Type().Bits()
		v.SetUint((r.Uint64() | 1<<63) >> (64 - bits + r.IntN(bits)))
	case reflect.Slice:
		n := 1 + r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	default:
		panic("fill: " + v.Kind().String())
	}
}

func filled(r *rand.Rand, cmd fsm.Command) fsm.Command {
	v := reflect.New(reflect.TypeOf(cmd)).Elem()
	fill(r, v)
	return v.Interface().(fsm.Command)
}

func randomEntry(r *rand.Rand) *fsm.Entry {
	e := &fsm.Entry{}
	fill(r, reflect.ValueOf(&e.Stint).Elem())
	fill(r, reflect.ValueOf(&e.Stamp).Elem())
	fill(r, reflect.ValueOf(&e.Wall).Elem())
	fill(r, reflect.ValueOf(&e.Beats).Elem())
	fill(r, reflect.ValueOf(&e.Words).Elem())
	for _, cmd := range commands() {
		req := fsm.Request{
			Session: noun.SessionID(r.Uint64()), Seq: r.Uint64(), Planned: r.IntN(2) == 0, Cmd: filled(r, cmd),
		}
		if r.IntN(2) == 0 {
			fill(r, reflect.ValueOf(&req.Audit).Elem())
		}
		e.Requests = append(e.Requests, req)
	}
	return e
}

func TestZeroCommandsSurviveTheCodec(t *testing.T) {
	for _, cmd := range commands() {
		data, err := Encode(&fsm.Entry{Requests: []fsm.Request{{Cmd: cmd}}})
		if err != nil {
			t.Fatal(err)
		}
		var back fsm.Entry
		if err := Decode(data, &back); err != nil {
			t.Fatalf("%T: %v", cmd, err)
		}
		if !reflect.DeepEqual(back.Requests[0].Cmd, cmd) {
			t.Errorf("%T became %+v", cmd, back.Requests[0].Cmd)
		}
	}
}

func TestFieldsInAnyOrderAreRead(t *testing.T) {
	var cmd []byte // CreateTask with its fields backwards, one of them twice
	cmd = protowire.AppendTag(cmd, 6, protowire.VarintType)
	cmd = protowire.AppendVarint(cmd, protowire.EncodeZigZag(-3))
	for _, f := range []struct {
		n number
		s string
	}{{5, "by"}, {3, "first"}, {3, "title"}, {2, "role"}, {1, "room"}} {
		cmd = protowire.AppendTag(cmd, f.n, protowire.BytesType)
		cmd = protowire.AppendString(cmd, f.s)
	}
	var e fsm.Entry
	if err := Decode(wrap(22, cmd), &e); err != nil {
		t.Fatal(err)
	}
	want := fsm.CreateTask{Room: "room", Role: "role", Title: "title", By: "by", Priority: -3}
	if e.Requests[0].Cmd != want {
		t.Errorf("got %+v, want %+v", e.Requests[0].Cmd, want)
	}
}

// wrap makes an entry of one encoded command.
func wrap(kind number, cmd []byte) []byte {
	req := protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), cmd)
	return protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), req)
}

func TestUnknownRecordsAreRefused(t *testing.T) {
	str := func(n number) []byte {
		return protowire.AppendString(protowire.AppendTag(nil, n, protowire.BytesType), "x")
	}
	num := func(n number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), 1<<40)
	}
	for name, data := range map[string][]byte{
		"command":                 wrap(999, nil),
		"field of a command":      wrap(22, str(99)),
		"field of the entry":      num(77),
		"request without command": protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), nil),
		"wrong wire type":         wrap(22, num(1)),
		"number out of range":     wrap(53, num(1)),
		"cut off":                 wrap(22, str(1))[:6],
		"not protobuf":            []byte("hello"),
		"group":                   protowire.AppendTag(nil, 3, protowire.StartGroupType),
		"field of a nested record": wrap(20,
			protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), str(500))),
	} {
		var e fsm.Entry
		if err := Decode(data, &e); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: got %v, want an unknown record", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"field of a command": wrap(22, str(1000)),
		"field of the entry": num(2000),
	} {
		var e fsm.Entry
		if err := Decode(data, &e); err != nil {
			t.Errorf("ignorable %s: %v", name, err)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, cmd := range commands() {
		data, err := Encode(&fsm.Entry{Stint: 1, Requests: []fsm.Request{{Cmd: filled(r, cmd)}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e fsm.Entry
		if err := Decode(data, &e); err != nil {
			if !errors.Is(err, ErrUnknown) {
				t.Fatalf("strange error: %v", err)
			}
			return
		}
		again, err := Encode(&e)
		if err != nil {
			t.Fatal(err)
		}
		var back fsm.Entry
		if err := Decode(again, &back); err != nil {
			t.Fatal(err)
		}
		third, err := Encode(&back)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, third) {
			t.Fatalf("not stable:\n%x\n%x", again, third)
		}
	})
}
