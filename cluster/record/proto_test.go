package record

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vigil/fsm"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// specification reads log.proto: what others would generate their code from.
func specification(t *testing.T) protoreflect.MessageDescriptors {
	t.Helper()
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{}}
	files, err := compiler.Compile(t.Context(), "log.proto")
	if err != nil {
		t.Fatal(err)
	}
	return files[0].Messages()
}

func TestEveryCommandOfTheSpecificationIsInTheRegistry(t *testing.T) {
	fields := specification(t).ByName("Request").Oneofs().ByName("command").Fields()
	if len(kinds) != fields.Len() {
		t.Errorf("%d commands in the registry, %d in log.proto", len(kinds), fields.Len())
	}
	for _, k := range kinds {
		fd := fields.ByNumber(k.number)
		if fd == nil || string(fd.Message().Name()) != k.typ.Name() || string(fd.Name()) != snake(k.typ.Name()) {
			t.Errorf("%d is %s in the registry, %v in log.proto", k.number, k.typ.Name(), fd)
		}
		if byNumber[k.number].typ != k.typ || byType[k.typ].number != k.number {
			t.Errorf("%d, %s: the number or the type is there twice", k.number, k.typ.Name())
		}
	}
}

// unrecorded are the fields that are no part of the record.
var unrecorded = []string{"Entry.Index", "Entry.Term", "Request.Word"}

// equalMessage compares a struct of fsm with a message of log.proto, field by field
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
			if slices.Contains(unrecorded, v.Type().Name()+"."+f.Name) {
				continue
			}
			if f.Type.Kind() == reflect.Interface { // the command
				equalCommand(t, v.Field(i).Elem(), m)
				seen += m.Descriptor().Oneofs().Get(0).Fields().Len()
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
		t.Errorf("%s: fields that log.proto does not have", at)
	}
}

func equalCommand(t *testing.T, v reflect.Value, m protoreflect.Message) {
	t.Helper()
	fd := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if fd == nil || string(fd.Message().Name()) != v.Type().Name() {
		t.Fatalf("%s became %v", v.Type().Name(), fd)
	}
	equalMessage(t, v.Type().Name(), v, m.Get(fd).Message())
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
	name = strings.NewReplacer("API", "Api", "ID", "Id", "PID", "Pid", "TTL", "Ttl", "USD", "Usd",
		"MCP", "Mcp").Replace(name)
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(strings.ReplaceAll(b.String(), "p_id", "pid"))
}

func TestCodecAgreesWithTheSpecification(t *testing.T) {
	messages := specification(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		e := randomEntry(r)
		data, err := Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		msg := dynamicpb.NewMessage(messages.ByName("Entry"))
		if err := proto.Unmarshal(data, msg); err != nil {
			t.Fatalf("as log.proto has it, nobody can read it: %v", err)
		}
		equalMessage(t, "Entry", reflect.ValueOf(*e), msg)
		// And back: what others write by log.proto is read the same.
		theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
		if err != nil {
			t.Fatal(err)
		}
		for _, bytes := range [][]byte{data, theirs} {
			var back fsm.Entry
			if err := Decode(bytes, &back); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(&back, e) {
				t.Fatalf("decoded\n%+v\nwant\n%+v", &back, e)
			}
		}
		if !bytes.Equal(data, theirs) {
			t.Errorf("the bytes differ from those that others would write")
		}
	}
}
