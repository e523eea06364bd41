package hosts

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// terminalLimit bounds the wait for a host. It is that of its shims.
const terminalLimit = 25 * time.Second

// terminal finds the agent's life and whoever holds the stream of its host.
func (l *relay) terminal(ctx context.Context, name string, ask *vigilv1.AtTerminalRequest) (*vigilv1.Screen, error) {
	ctx, cancel := context.WithTimeout(ctx, terminalLimit)
	defer cancel()
	hostName, err := l.life(name, ask)
	if err != nil { // this server may not have heard of it yet
		if _, err := l.CatchUp(ctx); err != nil {
			return nil, err
		}
		hostName, err = l.life(name, ask)
	}
	if err != nil {
		return nil, err
	}
	screen, err := l.atHost(ctx, hostName, ask)
	if err != nil {
		return nil, err
	}
	screen.Host, screen.Incarnation = hostName, noun.Incarnation(ask.GetIncarnation()).String()
	return screen, nil
}

// life fills in which life of the agent runs, and gives the name of its host.
func (l *relay) life(name string, ask *vigilv1.AtTerminalRequest) (hostName string, err error) {
	l.Reader.Read(func(st *fsm.View) {
		a := st.AgentByName(name)
		if a == nil {
			err = base.NoAgent(st, name)
			return
		}
		h := st.Host(a.Host)
		if a.Proc != noun.ProcRunning || h == nil {
			err = fault.New(code.Conflict, "%s does not run on any host; `vigil agent explain %s` says why.",
				name, name)
			return
		}
		hostName, ask.Host, ask.Agent, ask.Incarnation = h.Name, uint32(h.ID), uint32(a.ID), uint64(a.Inc)
	})
	return hostName, err
}

func (l *relay) atHost(
	ctx context.Context, hostName string, ask *vigilv1.AtTerminalRequest,
) (*vigilv1.Screen, error) {
	if s := l.streams.find(noun.HostID(ask.GetHost())); s != nil {
		return s.atTerminal(ctx, ask)
	}
	for _, addr := range l.others() {
		conn, err := l.Door.Peer(addr)
		if err != nil {
			continue
		}
		var to peer.Peer
		screen, err := vigilv1.NewFleetClient(conn).AtTerminal(metadata.AppendToOutgoingContext(ctx,
			code.HeaderRelayed, l.Self), ask, grpc.Peer(&to))
		if err == nil {
			return screen, nil
		}
		switch p := fault.Of(err); {
		case !fault.Ours(err) && to.Addr != nil && !ask.GetLook() && p.Code != code.Unimplemented:
			return nil, doubt("the server that the host is connected to was lost")
		case p.Code != code.Unavailable && p.Code != code.Unimplemented || ctx.Err() != nil:
			return nil, err
		}
	}
	return nil, fault.New(code.Unavailable,
		"Host %s, which has the terminal, is connected to no server that can ask it; look at "+
			"`vigil host show %s`.", hostName, hostName)
}

// atTerminal asks the host. What it complains about is the caller's to mend, or to wait
// for: nothing was typed then. Who was to type and did not answer is in doubt, and never
// asked again.
func (s *stream) atTerminal(ctx context.Context, ask *vigilv1.AtTerminalRequest) (*vigilv1.Screen, error) {
	r, err := s.request(ctx, func(id uint64) *vigilv1.ServerMessage {
		return &vigilv1.ServerMessage{Kind: &vigilv1.ServerMessage_TerminalRequest{TerminalRequest: &vigilv1.TerminalRequest{
			Request: id, Agent: ask.GetAgent(), Incarnation: ask.GetIncarnation(), Text: ask.GetText(),
			Key: ask.GetKey(), Look: ask.GetLook(), Lines: ask.GetLines(),
			SparePrompt: ask.GetSparePrompt(), Keys: ask.GetKeys(), Grant: ask.GetGrant(), Seq: ask.GetSeq(),
			Columns: ask.GetColumns(), Rows: ask.GetRows(), Over: ask.GetOver(), IfDialog: ask.GetIfDialog()}}}
	})
	if err != nil {
		return nil, err
	}
	defer s.drop(r)
	select {
	case d, ok := <-r.data:
		switch {
		case !ok:
			return nil, fault.New(code.Unavailable, "The screen is larger than a server takes; ask for fewer lines.")
		case d.GetError() != "" && len(d.GetData()) > 0: // of an answer, which is typed in parts
			return nil, fault.New(code.Conflict, "%s", "Not all of it was typed: "+d.GetError()+".")
		case d.GetError() != "":
			return nil, fault.New(code.Conflict, "%s", "Nothing was typed or seen: "+d.GetError()+".")
		}
		return &vigilv1.Screen{Text: string(d.GetData()), Dialog: d.GetDialog()}, nil
	case <-s.gone:
		if !ask.GetLook() {
			return nil, doubt("the host has left its server before it answered")
		}
		return nil, errStreamGone()
	case <-ctx.Done():
		if !ask.GetLook() {
			return nil, doubt("the host did not answer in time")
		}
		return nil, fault.New(code.Timeout, "The host did not answer in time.")
	}
}
