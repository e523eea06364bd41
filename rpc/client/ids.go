package client

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/gen/vigilv1"
)

// identified is every request with a write id.
type identified interface {
	proto.Message
	GetId() *vigilv1.WriteId
}

// wantsID tells whether the client has to number the request. Wait is left alone:
// it may park for minutes and would hold up the numbers after it, and its claim is
// safe to repeat, since an incarnation that holds a task is given the same again.
func wantsID(args any) bool {
	m, ok := args.(identified)
	if !ok || m.GetId() != nil {
		return false
	}
	_, wait := args.(*vigilv1.WaitRequest)
	return !wait
}

// withID gives a copy of the request that carries the number, so that the caller's
// message stays as it is and can be used again.
func withID(args any, t ticket) proto.Message {
	m := proto.CloneOf(args.(identified))
	setID(m, &vigilv1.WriteId{Session: t.s.id, Seq: t.seq})
	return m
}

// setID puts the number into the request. It goes by the field's name, so that a request with a
// write id needs no line here.
func setID(m identified, id *vigilv1.WriteId) {
	r := m.ProtoReflect()
	r.Set(r.Descriptor().Fields().ByName("id"), protoreflect.ValueOfMessage(id.ProtoReflect()))
}

// operation gives the request inside a Write, nil when there is none.
func operation(w *vigilv1.Write) identified {
	r := w.ProtoReflect()
	fd := r.WhichOneof(r.Descriptor().Oneofs().ByName("op"))
	if fd == nil {
		return nil
	}
	return r.Get(fd).Message().Interface().(identified)
}
