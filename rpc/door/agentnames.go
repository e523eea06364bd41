package door

import (
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/gen/vigilv1"
)

// The first agent of a role is called room/role; room/role.1 is taken for the same one in every
// request, before anybody looks at it, so that no handler and no state knows two names of one agent.

// firstName gives the name of the agent, and whether another one was written.
func firstName(name string) (string, bool) {
	short, numbered := strings.CutSuffix(name, ".1")
	_, slot, ok := strings.Cut(short, "/")
	return short, numbered && ok && !strings.Contains(slot, ".")
}

// sameNames replaces such names in a request. What it does not know it leaves alone.
func sameNames(req any) {
	if r, ok := req.(interface{ GetSpeaker() *vigilv1.Speaker }); ok {
		if name, other := firstName(r.GetSpeaker().GetAgent()); other {
			r.GetSpeaker().Agent = name
		}
	}
	if r, ok := req.(interface{ GetAgent() string }); ok {
		rename(req, "agent", r.GetAgent())
	}
	if r, ok := req.(interface{ GetScope() string }); ok {
		rename(req, "scope", r.GetScope())
	}
	if r, ok := req.(interface{ GetWrites() []*vigilv1.Write }); ok {
		for _, w := range r.GetWrites() {
			// What a oneof holds is a pointer to a struct of one field. The reflection of protobuf takes three times as long.
			if op := reflect.ValueOf(w.GetOp()); op.IsValid() {
				sameNames(op.Elem().Field(0).Interface())
			}
		}
	}
}

func rename(req any, field protoreflect.Name, name string) {
	short, other := firstName(name)
	m, ok := req.(proto.Message)
	if !other || !ok {
		return
	}
	r := m.ProtoReflect()
	r.Set(r.Descriptor().Fields().ByName(field), protoreflect.ValueOfString(short))
}
