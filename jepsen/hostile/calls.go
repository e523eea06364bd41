package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"vigil/rpc/gen/vigilv1"
)

// Victim is whom an attack is about: another life, its host and a server.
type Victim struct {
	Agent       string // room/role, in a room that is not the attacker's
	AgentID     uint32
	Incarnation uint64
	Host        uint32
	Key         string // of the host
	Server      string
	Task        uint64 // in the room of the agent
}

// String gives the victim as one word, as ParseVictim reads it: it has no comma and no space.
func (v Victim) String() string {
	return fmt.Sprintf("%s:%d:%d:%d:%s:%s:%d", v.Agent, v.AgentID, v.Incarnation, v.Host, v.Key, v.Server, v.Task)
}

// ParseVictim reads what String gave.
func ParseVictim(word string) (v Victim, err error) {
	parts := strings.Split(word, ":")
	if len(parts) != 7 {
		return v, fmt.Errorf("victim %q has %d parts, want 7", word, len(parts))
	}
	v.Agent, v.Key, v.Server = parts[0], parts[4], parts[5]
	var numbers [4]uint64
	for i, at := range []int{1, 2, 3, 6} {
		if numbers[i], err = strconv.ParseUint(parts[at], 10, 64); err != nil {
			return v, fmt.Errorf("victim %q: %w", word, err)
		}
	}
	v.AgentID, v.Incarnation, v.Host, v.Task = uint32(numbers[0]), numbers[1], uint32(numbers[2]), numbers[3]
	return v, nil
}

// room is that of the agent.
func (v Victim) room() string {
	room, _, _ := strings.Cut(v.Agent, "/")
	return room
}

// speaker is the agent's, with that token.
func (v Victim) speaker(token string) *vigilv1.Speaker {
	return &vigilv1.Speaker{Agent: v.Agent, Incarnation: v.Incarnation, Token: token}
}

// openCalls are those that whoever reaches a server may make, or whoever has an identity: they tell and do
// nothing that is another's.
var openCalls = []string{"/vigil.v1.Work/Batch", "/vigil.v1.Work/OpenSession", "/vigil.v1.Work/CloseSession",
	"/vigil.v1.Trust/GetTrust", "/vigil.v1.Trust/Join", "/vigil.v1.Trust/Login", "/vigil.v1.Trust/Renew"}

// callLimit bounds one attempt.
const callLimit = 3 * time.Second

// Everything makes every call about the victim; but names those that the attacker may make. All must be
// denied, or find that the life is over.
func Everything(ctx context.Context, t *Tally, conn grpc.ClientConnInterface, what string, v Victim, but ...string) {
	var methods []protoreflect.MethodDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage(vigilv1.File_vigil_v1_work_proto.Package(),
		func(f protoreflect.FileDescriptor) bool {
			for i := range f.Services().Len() {
				for k := range f.Services().Get(i).Methods().Len() {
					methods = append(methods, f.Services().Get(i).Methods().Get(k))
				}
			}
			return true
		})
	for _, m := range methods {
		name := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		if ctx.Err() != nil || slices.Contains(openCalls, name) || slices.Contains(but, name) {
			continue
		}
		may := []string{denied}
		if m.Input().Fields().ByName("speaker") != nil {
			may = append(may, superseded) // what is said of a life that has ended meanwhile is told so, whoever says it
		}
		t.Judge(what+" "+strings.TrimPrefix(name, "/vigil.v1."), call(ctx, conn, name, m, v), may...)
	}
}

// call makes one call about the victim.
func call(
	ctx context.Context, conn grpc.ClientConnInterface, name string, m protoreflect.MethodDescriptor, v Victim,
) error {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	req, out := kind.New().Interface(), dynamicpb.NewMessage(m.Output())
	v.fill(req)
	if !m.IsStreamingClient() && !m.IsStreamingServer() {
		return conn.Invoke(ctx, name, req, out)
	}
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: m.IsStreamingClient(),
		ServerStreams: m.IsStreamingServer()}, name)
	if err != nil {
		return err
	}
	if err := s.SendMsg(req); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !m.IsStreamingClient() {
		_ = s.CloseSend() // the answer tells
	}
	return s.RecvMsg(out)
}

// noMail is the number of no mail: small ones may be the attacker's own.
const noMail = 1 << 40

// fill makes a request one about the victim.
func (v Victim) fill(m proto.Message) {
	r := m.ProtoReflect()
	fields := r.Descriptor().Fields()
	set := func(name, text string, number uint64) {
		f := fields.ByName(protoreflect.Name(name))
		switch {
		case f == nil || f.IsList() || f.IsMap():
		case f.Kind() == protoreflect.StringKind:
			r.Set(f, protoreflect.ValueOfString(text))
		case f.Kind() == protoreflect.Uint64Kind:
			r.Set(f, protoreflect.ValueOfUint64(number))
		case f.Kind() == protoreflect.Uint32Kind:
			r.Set(f, protoreflect.ValueOfUint32(uint32(number)))
		}
	}
	set("room", v.room(), 0)
	set("agent", v.Agent, uint64(v.AgentID))
	set("incarnation", "", v.Incarnation)
	set("scope", v.room(), 0)
	set("to", v.Agent, 0)
	set("role", v.Agent[strings.Index(v.Agent, "/")+1:], 0)
	set("task", "", v.Task)
	set("mail", "", noMail)
	set("escalation", "", 1)
	set("host", v.Key, uint64(v.Host))
	set("key", v.Key, 0)
	set("boot", "boot", 0)
	set("server", v.Server, 0)
	set("raft_addr", "10.77.0.250:7421", 0)
	if f := fields.ByName("id"); f != nil && f.Kind() == protoreflect.StringKind {
		r.Set(f, protoreflect.ValueOfString(v.Server))
	}
	if f := fields.ByName("speaker"); f != nil {
		r.Set(f, protoreflect.ValueOfMessage(v.speaker("").ProtoReflect()))
	}
	switch m := m.(type) {
	case *vigilv1.BeatRequest: // by the agent itself, without its token
		m.Host, m.Boot = 0, ""
		m.Agents, m.Incarnations, m.Kinds = []uint32{v.AgentID}, []uint64{v.Incarnation}, []uint32{1}
	case *vigilv1.HostMessage:
		m.Kind = &vigilv1.HostMessage_Hello{Hello: &vigilv1.Hello{Host: v.Host, Boot: "boot"}}
	case *vigilv1.WatchEventsRequest:
		m.NoFollow = true
	}
}
