package client

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"vigil/rpc/code"
	"vigil/rpc/gen/vigilv1"
)

// MaxBatch is how many writes one Batch may carry.
const MaxBatch = 4096

func isBatch(args any) bool {
	_, ok := args.(*vigilv1.BatchRequest)
	return ok
}

// batch numbers every write of a Batch that has no id and repeats those that were
// not carried out, until each has its answer.
func (c *Client) batch(ctx context.Context, method string, in *vigilv1.BatchRequest,
	out *vigilv1.BatchResponse, opts []grpc.CallOption) error {
	if len(in.GetWrites()) > MaxBatch {
		return &Error{Code: code.TooLarge, Message: fmt.Sprintf(
			"a batch of %d writes is too large: send at most %d at once", len(in.GetWrites()), MaxBatch)}
	}
	t := c.trial(method, code.Write)
	results := make([]*vigilv1.WriteResult, len(in.GetWrites()))
	todo := make([]int, len(results))
	for i := range todo {
		todo[i] = i
	}
	for n := 0; ; n++ {
		again, err := c.send(ctx, t, in, todo, results, opts)
		if err != nil {
			return err
		}
		if todo = again; len(todo) == 0 || n == renewals || elapsed(t.began) >= t.until {
			proto.Reset(out)
			out.Results = results
			return nil
		}
	}
}

// send sends the writes listed in todo under new numbers, fills in their results,
// and lists those whose session the cluster did not know.
func (c *Client) send(ctx context.Context, t *trial, in *vigilv1.BatchRequest, todo []int,
	results []*vigilv1.WriteResult, opts []grpc.CallOption) (again []int, err error) {
	part := &vigilv1.BatchRequest{Writes: make([]*vigilv1.Write, len(todo))}
	var bare []int // positions in part without an id
	for i, at := range todo {
		part.Writes[i] = in.GetWrites()[at]
		if op := operation(part.Writes[i]); op != nil && op.GetId() == nil {
			bare = append(bare, i)
		}
	}
	tickets := make([]ticket, len(bare))
	if err := c.take(ctx, t, tickets); err != nil {
		return nil, err
	}
	defer c.sessions.put(c.life, tickets)
	owner := make([]*session, len(todo))
	for i, at := range bare {
		w := proto.Clone(part.Writes[at]).(*vigilv1.Write)
		setID(operation(w), &vigilv1.WriteId{Session: tickets[i].s.id, Seq: tickets[i].seq})
		part.Writes[at], owner[at] = w, tickets[i].s
	}
	var answer vigilv1.BatchResponse
	if err := c.repeatBatch(ctx, t, part, &answer, opts); err != nil {
		return nil, err
	}
	for i, at := range todo {
		results[at] = answer.GetResults()[i]
		if owner[i] != nil && results[at].GetError().GetCode() == code.UnknownSession {
			c.sessions.drop(owner[i])
			again = append(again, at)
		}
	}
	return again, nil
}

// repeatBatch sends the same numbers again while some of them have no final
// answer because leadership moved in the middle of the batch.
func (c *Client) repeatBatch(ctx context.Context, t *trial, part *vigilv1.BatchRequest,
	answer *vigilv1.BatchResponse, opts []grpc.CallOption) error {
	for {
		if err := c.repeat(ctx, t, part, answer, opts); err != nil {
			return err
		}
		if len(answer.GetResults()) != len(part.GetWrites()) {
			return &Error{Code: code.Internal, Message: fmt.Sprintf(
				"the server answered %d of %d writes of a batch", len(answer.GetResults()), len(part.GetWrites()))}
		}
		t.last = nil
		for _, r := range answer.GetResults() {
			e := From(FromInfo(r.GetError()))
			if e.fleeting() {
				t.last = e
			}
			t.maybe = t.maybe || e == nil || e.open()
		}
		if t.last == nil {
			return nil
		}
		t.tries++
		t.pause(ctx, c.done)
	}
}
