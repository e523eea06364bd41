package door

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/fsm/noun"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// keyHeader brings the write id of a call over HTTP, SESSION-SEQ: the session that POST
// /v1/sessions opened, and a number from 1 that grows by one a write. The answer to a key is given
// once; who repeats a call with it gets the first answer, whatever the second call says.
const keyHeader = "Idempotency-Key"

// passed is what an HTTP request hands on to its call: its write id, its trace, how long ago it was said, and who
// sends it.
func passed(ctx context.Context, r *http.Request) metadata.MD {
	md := metadata.MD{}
	for _, name := range [...]string{code.HeaderRepeat, code.HeaderSaid} {
		if v := r.Header.Get(name); v != "" {
			md.Set(name, v)
		}
	}
	if key := r.Header.Get(keyHeader); key != "" {
		md.Set(code.HeaderWriteID, key)
	}
	if said := r.Header.Values(code.HeaderTrace); len(said) == 1 && len(said[0]) <= noun.MaxTrace {
		md.Set(code.HeaderTrace, said[0])
	}
	return passCaller(ctx, r, md)
}

// number puts the write id that came in a header into the request. Calls without one may be
// repeated as they are, so there the header changes nothing.
func number(ctx context.Context, req any) error {
	keys := metadata.ValueFromIncomingContext(ctx, code.HeaderWriteID)
	if len(keys) == 0 {
		return nil
	}
	session, seq, _ := strings.Cut(keys[0], "-")
	id := &vigilv1.WriteId{}
	var e1, e2 error
	id.Session, e1 = strconv.ParseUint(session, 10, 64)
	id.Seq, e2 = strconv.ParseUint(seq, 10, 64)
	if e1 != nil || e2 != nil || id.Session == 0 || id.Seq == 0 {
		return fault.Invalid("%s %s is not SESSION-SEQ: open a session with POST /v1/sessions and number your writes "+
			"from 1, as in 17-1.", keyHeader, fault.Quote(keys[0]))
	}
	m, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	field := m.ProtoReflect().Descriptor().Fields().ByName("id")
	if field == nil || field.Message() == nil ||
		field.Message().FullName() != id.ProtoReflect().Descriptor().FullName() {
		return nil
	}
	if m.ProtoReflect().Has(field) {
		return fault.Invalid("The call has both %s and an id in its body; give one of them.", keyHeader)
	}
	m.ProtoReflect().Set(field, protoreflect.ValueOfMessage(id.ProtoReflect()))
	return nil
}
