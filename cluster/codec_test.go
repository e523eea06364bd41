package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/gen/logv1"
)

// commands has one of each kind; the test below proves that none is missing.
func commands() []fsm.Command {
	return []fsm.Command{
		fsm.LeaderEstablished{}, fsm.PutServer{}, fsm.DropServer{}, fsm.OpenSession{}, fsm.CloseSession{},
		fsm.PutSettings{}, fsm.Mark{}, fsm.ReportHash{}, fsm.RaiseEpoch{}, fsm.LeaderUnreached{}, fsm.RaiseLevel{}, fsm.ApplyRoom{}, fsm.DeleteRoom{},
		fsm.CreateTask{}, fsm.CancelTask{}, fsm.RetryTask{}, fsm.Join{}, fsm.Leave{}, fsm.Claim{},
		fsm.StartTask{}, fsm.ProgressTask{}, fsm.CompleteTask{}, fsm.FailTask{}, fsm.Handoff{}, fsm.SetResume{},
		fsm.SetAgent{}, fsm.RestartAgent{}, fsm.RegisterHost{}, fsm.LeaveHost{}, fsm.SuspectHost{},
		fsm.AcceptOrder{}, fsm.ReportStarted{}, fsm.ReportExit{}, fsm.OrderStart{}, fsm.OrderStop{}, fsm.CancelOrder{},
		fsm.UnquarantineTask{}, fsm.SetPause{}, fsm.UnparkAgent{}, fsm.ReleaseBrake{}, fsm.DrainHost{}, fsm.ConfirmDead{},
		fsm.ForgetHost{}, fsm.ReportViews{}, fsm.SurrenderHost{}, fsm.ReportPressure{}, fsm.ReportStuck{}, fsm.NoteNudge{}, fsm.Declare{},
		fsm.SendMail{}, fsm.ReadMail{}, fsm.AckMail{},
		fsm.WarnRoom{}, fsm.CancelIdleRoom{}, fsm.ReopenRoom{}, fsm.SetRoomWatch{},
		fsm.AckEscalation{}, fsm.CloseEscalation{}, fsm.NoteNotice{},
		fsm.StepLadder{}, fsm.NoteRung{},
		fsm.ReportScreen{}, fsm.ReportTerminals{},
		fsm.ReportPatrol{}, fsm.LookAtOverseer{}, fsm.HandOver{}, fsm.ProdOverseer{}, fsm.NoteProd{},
	}
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
	for _, cmd := range commands() {
		e.Requests = append(e.Requests, fsm.Request{
			Session: noun.SessionID(r.Uint64()), Seq: r.Uint64(), Planned: r.IntN(2) == 0, Cmd: filled(r, cmd),
		})
	}
	return e
}

func TestEveryCommandOfTheProtoIsTested(t *testing.T) {
	oneof := (&logv1.Request{}).ProtoReflect().Descriptor().Oneofs().ByName("command")
	if got, want := len(commands()), oneof.Fields().Len(); got != want {
		t.Fatalf("%d commands in the test, %d in log.proto", got, want)
	}
}

// equalMessage compares a struct of fsm with a generated message, field by field
// and by name.
func equalMessage(t *testing.T, at string, v reflect.Value, m protoreflect.Message) {
	t.Helper()
	seen := 0
	fields := m.Descriptor().Fields()
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous {
				walk(v.Field(i))
				continue
			}
			fd := fields.ByName(protoreflect.Name(snake(f.Name)))
			if fd == nil {
				t.Errorf("%s.%s is not in log.proto", at, f.Name)
				continue
			}
			seen++
			equalField(t, at+"."+f.Name, v.Field(i), fd, m.Get(fd))
		}
	}
	walk(v)
	if seen != fields.Len() {
		t.Errorf("%s: log.proto has %d fields, fsm %d", at, fields.Len(), seen)
	}
	if len(m.GetUnknown()) > 0 {
		t.Errorf("%s: fields unknown to the generated message", at)
	}
}

func equalField(t *testing.T, at string, v reflect.Value, fd protoreflect.FieldDescriptor, got protoreflect.Value) {
	t.Helper()
	if fd.IsList() {
		list := got.List()
		if list.Len() != v.Len() {
			t.Errorf("%s: %d items, want %d", at, list.Len(), v.Len())
			return
		}
		for i := range v.Len() {
			if fd.Kind() == protoreflect.MessageKind {
				equalMessage(t, at, v.Index(i), list.Get(i).Message())
			} else if list.Get(i).String() != v.Index(i).String() {
				t.Errorf("%s[%d]: %v, want %v", at, i, list.Get(i), v.Index(i))
			}
		}
		return
	}
	var same bool
	switch v.Kind() {
	case reflect.String:
		same = got.String() == v.String()
	case reflect.Bool:
		same = got.Bool() == v.Bool()
	case reflect.Slice:
		same = bytes.Equal(got.Bytes(), v.Bytes())
	case reflect.Int32, reflect.Int64:
		same = got.Int() == v.Int()
	default:
		same = got.Uint() == v.Uint()
	}
	if !same {
		t.Errorf("%s: %v, want %v", at, got, v)
	}
}

// snake turns IfRev into if_rev, APIAddr into api_addr, ID into id.
func snake(name string) string {
	name = strings.NewReplacer("API", "Api", "ID", "Id", "PID", "Pid", "TTL", "Ttl").Replace(name)
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(strings.ReplaceAll(b.String(), "p_id", "pid"))
}

func TestCodecAgreesWithGeneratedMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		e := randomEntry(r)
		data, err := encodeEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		var msg logv1.Entry
		if err := proto.Unmarshal(data, &msg); err != nil {
			t.Fatalf("generated code cannot read it: %v", err)
		}
		if msg.Stint != e.Stint || msg.Stamp != int64(e.Stamp) || msg.Wall != int64(e.Wall) {
			t.Errorf("head %v, want %v", &msg, e)
		}
		for i := range e.Beats {
			equalMessage(t, "HostBeats", reflect.ValueOf(e.Beats[i]), msg.Beats[i].ProtoReflect())
		}
		for i, req := range e.Requests {
			m := msg.Requests[i]
			if m.Session != uint64(req.Session) || m.Seq != req.Seq || m.Planned != req.Planned {
				t.Errorf("request %d: %v, want %v", i, m, req)
			}
			name := reflect.TypeOf(req.Cmd).Name()
			ref := m.ProtoReflect()
			fd := ref.WhichOneof(ref.Descriptor().Oneofs().ByName("command"))
			if fd == nil || string(fd.Message().Name()) != name {
				t.Fatalf("%s became %v", name, fd)
			}
			equalMessage(t, name, reflect.ValueOf(req.Cmd), ref.Get(fd).Message())
		}
		// And back: what generated code writes, in its own way, is read the same.
		theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(&msg)
		if err != nil {
			t.Fatal(err)
		}
		for _, bytes := range [][]byte{data, theirs} {
			var back fsm.Entry
			if err := decodeEntry(bytes, &back); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(&back, e) {
				t.Fatalf("decoded\n%+v\nwant\n%+v", &back, e)
			}
		}
		if !bytes.Equal(data, theirs) {
			t.Errorf("the bytes differ from generated code's")
		}
	}
}

func TestZeroCommandsSurviveTheCodec(t *testing.T) {
	for _, cmd := range commands() {
		data, err := encodeEntry(&fsm.Entry{Requests: []fsm.Request{{Cmd: cmd}}})
		if err != nil {
			t.Fatal(err)
		}
		var back fsm.Entry
		if err := decodeEntry(data, &back); err != nil {
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
	if err := decodeEntry(wrap(22, cmd), &e); err != nil {
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
		"command":                  wrap(999, nil),
		"field of a command":       wrap(22, str(99)),
		"field of the entry":       num(77),
		"request without command":  protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), nil),
		"wrong wire type":          wrap(22, num(1)),
		"number out of range":      wrap(53, num(1)),
		"cut off":                  wrap(22, str(1))[:6],
		"not protobuf":             []byte("hello"),
		"group":                    protowire.AppendTag(nil, 3, protowire.StartGroupType),
		"field of a nested record": wrap(20, protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), str(500))),
	} {
		var e fsm.Entry
		if err := decodeEntry(data, &e); !errors.Is(err, ErrUnknownRecord) {
			t.Errorf("%s: got %v, want an unknown record", name, err)
		}
	}
	for name, data := range map[string][]byte{
		"field of a command": wrap(22, str(1000)),
		"field of the entry": num(2000),
	} {
		var e fsm.Entry
		if err := decodeEntry(data, &e); err != nil {
			t.Errorf("ignorable %s: %v", name, err)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, cmd := range commands() {
		data, err := encodeEntry(&fsm.Entry{Stint: 1, Requests: []fsm.Request{{Cmd: filled(r, cmd)}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e fsm.Entry
		if err := decodeEntry(data, &e); err != nil {
			if !errors.Is(err, ErrUnknownRecord) {
				t.Fatalf("strange error: %v", err)
			}
			return
		}
		again, err := encodeEntry(&e)
		if err != nil {
			t.Fatal(err)
		}
		var back fsm.Entry
		if err := decodeEntry(again, &back); err != nil {
			t.Fatal(err)
		}
		third, err := encodeEntry(&back)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, third) {
			t.Fatalf("not stable:\n%x\n%x", again, third)
		}
	})
}
