package rpc

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"vigil/rpc/gen/vigilv1"
)

// method says how one unary call is treated.
type method struct {
	name string // Fleet/CreateTask
	// local: any server serves it from its own replica.
	local bool
	// read: answered from the state; from this server's own when stale is asked for.
	read bool
	// repeatable: doing it twice is the same as doing it once, or the write id of
	// the request makes it so.
	repeatable bool
	// beat: a proof of life. Its sender counts from the moment that it sent it, so a
	// server may bring it to one leader after the other; but not for long.
	beat     bool
	newReply func() proto.Message
	stats    *methodStats
}

// repeatables are the calls that are safe to repeat without a write id: the state
// machine recognizes the second one by its content.
func repeatables() map[string]bool {
	m := map[string]bool{}
	for _, name := range []string{
		vigilv1.Work_OpenSession_FullMethodName, vigilv1.Work_CloseSession_FullMethodName,
		vigilv1.Work_Claim_FullMethodName, vigilv1.Work_Leave_FullMethodName,
		vigilv1.Work_ProgressTask_FullMethodName, vigilv1.Work_SetResume_FullMethodName,
		vigilv1.Work_Declare_FullMethodName, vigilv1.Mailbox_AckMail_FullMethodName,
		vigilv1.Escalations_AckEscalation_FullMethodName, vigilv1.Escalations_CloseEscalation_FullMethodName,
		vigilv1.HostAgent_Register_FullMethodName, vigilv1.HostAgent_LeaveHost_FullMethodName,
		vigilv1.HostAgent_AcceptOrder_FullMethodName, vigilv1.HostAgent_ReportStarted_FullMethodName,
		vigilv1.HostAgent_ReportExit_FullMethodName, vigilv1.HostAgent_ReportStuck_FullMethodName,
		vigilv1.HostAgent_ReportScreen_FullMethodName, vigilv1.HostAgent_ReportTerminals_FullMethodName,
		vigilv1.HostAgent_ReportPressure_FullMethodName, vigilv1.HostAgent_DrainSelf_FullMethodName,
		vigilv1.Cluster_AnnounceServer_FullMethodName,
		vigilv1.Cluster_ReportHash_FullMethodName, vigilv1.Cluster_ReportViews_FullMethodName,
		vigilv1.Cluster_ListServers_FullMethodName,
	} {
		m[name] = true
	}
	return m
}

// locals are the unary calls that any server serves by itself.
func locals() map[string]bool {
	return map[string]bool{vigilv1.Work_Wait_FullMethodName: true, vigilv1.Mailbox_WaitMail_FullMethodName: true,
		vigilv1.Cluster_GetHealth_FullMethodName: true, vigilv1.Fleet_LookAtAgent_FullMethodName: true, vigilv1.Fleet_AtTerminal_FullMethodName: true}
}

func services() []protoreflect.ServiceDescriptor {
	var out []protoreflect.ServiceDescriptor
	for _, f := range []protoreflect.FileDescriptor{vigilv1.File_vigil_v1_fleet_proto,
		vigilv1.File_vigil_v1_work_proto, vigilv1.File_vigil_v1_host_proto, vigilv1.File_vigil_v1_cluster_proto, vigilv1.File_vigil_v1_mail_proto,
		vigilv1.File_vigil_v1_escalation_proto, vigilv1.File_vigil_v1_overseer_proto} {
		for i := range f.Services().Len() {
			out = append(out, f.Services().Get(i))
		}
	}
	return out
}

// newMethods describes every call of the .proto files by its full gRPC name.
func newMethods(m *metrics) (map[string]*method, error) {
	safe, local := repeatables(), locals()
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
				name:       short,
				local:      local[full],
				read:       d.Input().Fields().ByName("stale") != nil,
				repeatable: safe[full],
				beat:       full == vigilv1.Work_Beat_FullMethodName,
				newReply:   func() proto.Message { return reply.New().Interface() },
				stats:      m.method(short),
			}
		}
	}
	return out, nil
}

// stayHere tells whether this server answers by itself, leader or not.
func (m *method) stayHere(req any) bool {
	if m.local {
		return true
	}
	if r, ok := req.(interface{ GetStale() bool }); ok && m.read {
		return r.GetStale()
	}
	return false
}

// mayRepeat tells whether the request may be sent again after an unknown outcome.
func (m *method) mayRepeat(req any) bool {
	if m.read || m.repeatable || m.beat {
		return true
	}
	switch r := req.(type) {
	case interface{ GetId() *vigilv1.WriteId }:
		return r.GetId().GetSession() != 0
	case *vigilv1.BatchRequest:
		for _, w := range r.GetWrites() {
			if writeID(w).GetSession() == 0 {
				return false
			}
		}
		return true
	}
	return false
}
