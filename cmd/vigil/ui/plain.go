package ui

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"vigil/rpc/client"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// patience is how long somebody in front of a page waits for one answer.
const patience = 12 * time.Second

// plain is a connection whose errors have the form in which servers send them: the client's own lose code
// and revision on the way through the gateway.
type plain struct {
	grpc.ClientConnInterface
	by string // whose word a call is that says nothing of it
}

// Invoke implements grpc.ClientConnInterface.
func (p *plain) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if !code.NatureOf(method).Long() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	sign(args, p.by)
	return formed(p.ClientConnInterface.Invoke(ctx, method, args, reply, opts...))
}

// sign says whose word a call is, as commands do. Servers that know people by identities put the name of that there.
func sign(call any, by string) {
	m, ok := call.(proto.Message)
	if !ok || by == "" {
		return
	}
	if mail, ok := m.(*vigilv1.SendMailRequest); ok && mail.GetSpeaker() == nil && mail.GetFrom() == "" {
		mail.From = by
		return
	}
	r := m.ProtoReflect()
	field := r.Descriptor().Fields().ByName("by")
	if field != nil && field.Kind() == protoreflect.StringKind && !field.IsList() && !r.Has(field) {
		r.Set(field, protoreflect.ValueOfString(by))
	}
}

// NewStream implements grpc.ClientConnInterface.
func (p *plain) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := p.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	if err != nil {
		return nil, formed(err)
	}
	return &plainStream{s}, nil
}

type plainStream struct{ grpc.ClientStream }

// RecvMsg implements grpc.ClientStream.
func (s *plainStream) RecvMsg(m any) error { return formed(s.ClientStream.RecvMsg(m)) }

func formed(err error) error {
	e := client.From(err)
	if e == nil {
		return err
	}
	return (&fault.Error{Code: e.Code, Text: e.Message, Rev: e.Rev, Leader: e.Leader, Oldest: e.Oldest}).Status()
}
