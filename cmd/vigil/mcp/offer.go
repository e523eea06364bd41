package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"vigil/rpc/gen/vigilv1"
)

// listPatience is how long a client that asks for the tools waits until it is known whether the
// agent is an overseer. Most clients ask at once, while the room is being joined.
const listPatience = 3 * time.Second

// mcpOffer is which tools the client of one desk is given: overseers have more than others. Its
// methods may be called by several goroutines.
type mcpOffer struct {
	desk   *mcpDesk
	server *mcp.Server
	plain  []mcpTool
	extra  []mcpTool // of overseers

	mu       sync.Mutex
	overseer bool // extra is offered
}

// newOffer gives the tools of every agent to a server, and has it check every call.
func newOffer(s *mcp.Server, d *mcpDesk) *mcpOffer {
	o := &mcpOffer{desk: d, server: s, plain: mcpTools(), extra: mcpOverseerTools()}
	if d.only.Task != 0 {
		o.plain = forOneTask(o.plain)
	}
	for _, t := range o.plain {
		t.add(s, d)
	}
	s.AddReceivingMiddleware(o.receive)
	return o
}

// receive stands before the server: who asks for tools gets those of the agent's role as it is
// now, and a wrong call is answered with what to do.
func (o *mcpOffer) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch r := r.(type) {
		case *mcp.ListToolsRequest:
			bound, cancel := context.WithTimeout(ctx, listPatience)
			o.refresh(bound) // when it is known later only, the client is told that the list has changed
			cancel()
		case *mcp.CallToolRequest:
			if err := o.check(ctx, r.Params); err != nil {
				return refusal(err)
			}
		}
		return next(ctx, method, r)
	}
}

// refusal is the answer to a wrong call. What a model can mend is a result: clients may keep
// errors of the protocol from it.
func refusal(err error) (mcp.Result, error) {
	if wire, ok := err.(*jsonrpc.Error); ok {
		return nil, wire
	}
	out := &mcp.CallToolResult{}
	out.SetError(err)
	return out, nil
}

// check tells whether a call can be made: of a tool that the agent has, with right arguments.
func (o *mcpOffer) check(ctx context.Context, call *mcp.CallToolParamsRaw) error {
	is := func(t mcpTool) bool { return t.name == call.Name }
	if i := slices.IndexFunc(o.plain, is); i >= 0 {
		return o.plain[i].check(call.Arguments)
	}
	i := slices.IndexFunc(o.extra, is)
	if i < 0 {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: fmt.Sprintf("unknown tool %q; there are %s", call.Name, o.names())}
	}
	// The role may have become that of an overseer since the client has listed the tools.
	switch overseer, err := o.refresh(ctx); {
	case err != nil:
		return err
	case !overseer:
		return mcpAdvicef("Nothing was changed: %s is for overseers, and %s is no overseer. Go on without it.",
			call.Name, o.desk.agent())
	}
	return o.extra[i].check(call.Arguments)
}

// names lists the tools that are offered.
func (o *mcpOffer) names() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := o.plain
	if o.overseer {
		list = slices.Concat(list, o.extra)
	}
	var names []string
	for _, t := range list {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

// refresh asks what the agent is and offers the tools of that. A client that has listed the tools
// already is told by the server when they change.
func (o *mcpOffer) refresh(ctx context.Context) (overseer bool, err error) {
	w, err := o.desk.member(ctx)
	if err != nil {
		return false, err
	}
	answer, err := o.desk.conn.Fleet.GetAgent(ctx, &vigilv1.GetAgentRequest{Agent: w.Agent()})
	if err != nil {
		return false, o.desk.judge(ctx, nil, err)
	}
	overseer = answer.GetAgent().GetOverseer() != nil
	o.mu.Lock()
	defer o.mu.Unlock()
	if overseer == o.overseer { // each change is announced, and clients list the tools again then
		return overseer, nil
	}
	o.overseer = overseer
	for _, t := range o.extra {
		if overseer {
			t.add(o.server, o.desk)
		} else {
			o.server.RemoveTools(t.name)
		}
	}
	return overseer, nil
}

// settle refreshes until it is known what the agent is, or ctx ends.
func (o *mcpOffer) settle(ctx context.Context) {
	for ctx.Err() == nil && o.desk.ended() == nil {
		if _, err := o.refresh(ctx); err == nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(joinPause):
		}
	}
}
