package door

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// received is what a message is read into: decoded only when it is not larger than its call may be.
// A decoded message takes several times the memory of its bytes, and its fields are checked later.
type received struct {
	into any // a message
	most int // bytes
	size int // bytes that came
}

func (r *received) tooLarge(method string) error {
	if r.size <= r.most {
		return nil
	}
	return fault.New(code.TooLarge, "The request has %d bytes; %s takes at most %d.", r.size, method, r.most)
}

// codec is that of gRPC for all that is not received.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(*received)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if r.size = data.Len(); r.size > r.most {
		return nil // the call is refused with a code: an error from here would have none
	}
	return c.CodecV2.Unmarshal(data, r.into)
}

// registrar registers services whose calls are bounded in size.
type registrar struct {
	to       grpc.ServiceRegistrar
	observer *observer
	carrier  *carrier // gets the calls that may come over one stream
}

// RegisterService implements grpc.ServiceRegistrar.
func (r *registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	bounded := *desc
	bounded.Methods = slices.Clone(desc.Methods)
	for i := range bounded.Methods {
		m := &bounded.Methods[i]
		full := "/" + desc.ServiceName + "/" + m.MethodName
		m.Handler = r.bounded(full, m.Handler)
		r.carrier.add(full, impl, m.Handler)
	}
	r.to.RegisterService(&bounded, impl)
}

// bounded is a unary call that is refused, and counted, when its request is too large.
func (r *registrar) bounded(method string, h grpc.MethodHandler) grpc.MethodHandler {
	most := code.MaxRequest(method)
	return func(srv any, ctx context.Context, dec func(any) error, next grpc.UnaryServerInterceptor) (any, error) {
		req := received{most: most}
		read := func(v any) error {
			req.into = v
			return dec(&req)
		}
		return h(srv, ctx, read, func(ctx context.Context, in any, info *grpc.UnaryServerInfo,
			h grpc.UnaryHandler) (any, error) {
			if err := req.tooLarge(method); err != nil {
				return r.observer.unary(ctx, in, info, func(context.Context, any) (any, error) { return nil, err })
			}
			return next(ctx, in, info, h)
		})
	}
}

// boundedStream refuses messages that are too large.
type boundedStream struct {
	grpc.ServerStream
	method string
	most   int
}

// RecvMsg implements grpc.ServerStream.
func (s *boundedStream) RecvMsg(m any) error {
	req := received{into: m, most: s.most}
	if err := s.ServerStream.RecvMsg(&req); err != nil {
		return err
	}
	sameNames(m)
	return req.tooLarge(s.method)
}
