package door

import (
	"net/http"
	"regexp"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// method is one call as this server treats it.
type method struct {
	name     string // Fleet/CreateTask
	nature   code.Nature
	newReply func() proto.Message
	stats    *methodStats
}

func services() []protoreflect.ServiceDescriptor {
	var out []protoreflect.ServiceDescriptor
	for _, f := range []protoreflect.FileDescriptor{
		vigilv1.File_vigil_v1_fleet_proto, vigilv1.File_vigil_v1_work_proto, vigilv1.File_vigil_v1_host_proto,
		vigilv1.File_vigil_v1_cluster_proto, vigilv1.File_vigil_v1_mail_proto,
		vigilv1.File_vigil_v1_escalation_proto, vigilv1.File_vigil_v1_overseer_proto,
		vigilv1.File_vigil_v1_trust_proto, vigilv1.File_vigil_v1_calls_proto, vigilv1.File_vigil_v1_desk_proto,
	} {
		for i := range f.Services().Len() {
			out = append(out, f.Services().Get(i))
		}
	}
	return out
}

// newMethods describes every call of the .proto files by its full gRPC name.
func newMethods(m *metrics) (map[string]*method, error) {
	out := map[string]*method{}
	for _, svc := range services() {
		for i := range svc.Methods().Len() {
			d := svc.Methods().Get(i)
			full := "/" + string(svc.FullName()) + "/" + string(d.Name())
			reply, err := protoregistry.GlobalTypes.FindMessageByName(d.Output().FullName())
			if err != nil {
				return nil, err
			}
			short := string(svc.Name()) + "/" + string(d.Name())
			out[full] = &method{
				name:     short,
				nature:   code.NatureOf(full),
				newReply: func() proto.Message { return reply.New().Interface() },
				stats:    m.method(short, code.NatureOf(full).Parked()),
			}
		}
	}
	return out, nil
}

// variable finds one in a path; the gateway writes it with what it matches.
var variable = regexp.MustCompile(`\{([a-z_.]+)\}`)

// bodies are the sizes of bodies that calls over HTTP take, by verb and path of the gateway.
func bodies() map[string]int64 {
	out := map[string]int64{}
	for _, svc := range services() {
		for i := range svc.Methods().Len() {
			d := svc.Methods().Get(i)
			size := int64(min(jsonMore*code.MaxRequest("/"+string(svc.FullName())+"/"+string(d.Name())), maxBody))
			if !proto.HasExtension(d.Options(), annotations.E_Http) {
				continue // over gRPC only
			}
			rule := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule)
			for _, r := range append([]*annotations.HttpRule{rule}, rule.GetAdditionalBindings()...) {
				out[verbAndPath(r)] = size
			}
		}
	}
	return out
}

// verbAndPath writes a rule as the gateway shows the pattern that it matched.
func verbAndPath(r *annotations.HttpRule) string {
	verb, path := "", ""
	switch p := r.GetPattern().(type) {
	case *annotations.HttpRule_Get:
		verb, path = http.MethodGet, p.Get
	case *annotations.HttpRule_Put:
		verb, path = http.MethodPut, p.Put
	case *annotations.HttpRule_Post:
		verb, path = http.MethodPost, p.Post
	case *annotations.HttpRule_Delete:
		verb, path = http.MethodDelete, p.Delete
	case *annotations.HttpRule_Patch:
		verb, path = http.MethodPatch, p.Patch
	}
	return verb + " " + variable.ReplaceAllString(path, "{$1=*}")
}

// stayHere tells whether this server answers by itself, leader or not.
func (m *method) stayHere(req any) bool {
	if m.nature == code.Local || m.parks(req) {
		return true
	}
	r, ok := req.(interface{ GetStale() bool })
	return ok && m.nature == code.Read && r.GetStale()
}

// parks tells whether this server may hold the call for as long as its caller likes.
func (m *method) parks(req any) bool {
	if r, ok := req.(*vigilv1.NextRequest); ok {
		return r.GetMaxWait() != nil
	}
	return m.nature.Parked()
}

// mayRepeat tells whether the request may be sent again after an unknown outcome.
func (m *method) mayRepeat(req any) bool {
	switch m.nature {
	case code.Read, code.Idempotent, code.Beat:
		return true
	}
	switch r := req.(type) {
	case interface{ GetId() *vigilv1.WriteId }:
		return r.GetId().GetSession() != 0
	case *vigilv1.BatchRequest:
		for _, w := range r.GetWrites() {
			if WriteID(w).GetSession() == 0 {
				return false
			}
		}
		return true
	}
	return false
}

// WriteCall gives the call that one write of a batch stands for, by its full name; "" for one that
// this server does not know.
func WriteCall(w *vigilv1.Write) (method string, req any) {
	switch op := w.GetOp().(type) {
	case *vigilv1.Write_CreateTask:
		return vigilv1.Fleet_CreateTask_FullMethodName, op.CreateTask
	case *vigilv1.Write_Claim:
		return vigilv1.Work_Claim_FullMethodName, op.Claim
	case *vigilv1.Write_StartTask:
		return vigilv1.Work_StartTask_FullMethodName, op.StartTask
	case *vigilv1.Write_ProgressTask:
		return vigilv1.Work_ProgressTask_FullMethodName, op.ProgressTask
	case *vigilv1.Write_CompleteTask:
		return vigilv1.Work_CompleteTask_FullMethodName, op.CompleteTask
	case *vigilv1.Write_FailTask:
		return vigilv1.Work_FailTask_FullMethodName, op.FailTask
	case *vigilv1.Write_Handoff:
		return vigilv1.Work_Handoff_FullMethodName, op.Handoff
	case *vigilv1.Write_Next:
		return vigilv1.Work_Next_FullMethodName, op.Next
	case *vigilv1.Write_Join:
		return vigilv1.Work_Join_FullMethodName, op.Join
	case *vigilv1.Write_Leave:
		return vigilv1.Work_Leave_FullMethodName, op.Leave
	}
	return "", nil
}

// WriteID gives the write id of one write of a batch.
func WriteID(w *vigilv1.Write) *vigilv1.WriteId {
	if _, req := WriteCall(w); req != nil {
		return req.(interface{ GetId() *vigilv1.WriteId }).GetId()
	}
	return nil
}
