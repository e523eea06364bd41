package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"vigil/fsm"
	"vigil/rpc/base"
	"vigil/rpc/code"
	"vigil/rpc/fault"
	"vigil/rpc/gen/vigilv1"
)

// MaxSaves is how many backups may be on their way at once.
const MaxSaves = 2

// chunkSize is how much of a snapshot one message carries.
const chunkSize = 64 << 10

// SaveSnapshot streams a backup of the whole state. Any server makes it, from its
// own replica, once that has all that was committed before the call.
func (c *Service) SaveSnapshot(
	_ *vigilv1.SaveSnapshotRequest, s grpc.ServerStreamingServer[vigilv1.SnapshotChunk],
) error {
	if c.Backups == nil {
		return fault.New(code.Unimplemented, "This server makes no backups.")
	}
	if !c.Saves.Take() {
		return c.Saves.Full("backups under way")
	}
	defer c.Saves.Give()
	if _, err := c.CatchUp(s.Context()); err != nil {
		return err
	}
	w := bufio.NewWriterSize(chunkWriter{s}, chunkSize)
	if err := c.Backups.Snapshot(w); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return w.Flush()
}

type chunkWriter struct {
	to grpc.ServerStreamingServer[vigilv1.SnapshotChunk]
}

// Write sends p in chunks. The message is sent before Write returns, so p is free again.
func (w chunkWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), chunkSize)]
		if err := w.to.Send(&vigilv1.SnapshotChunk{Data: part}); err != nil {
			return n, err
		}
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

// RestoreSnapshot replaces the whole state by a backup. A server that does not lead
// hands the stream on to the leader.
func (c *Service) RestoreSnapshot(
	s grpc.ClientStreamingServer[vigilv1.RestoreSnapshotRequest, vigilv1.RestoreSnapshotResponse],
) error {
	if c.Backups == nil {
		return fault.New(code.Unimplemented, "This server restores no backups.")
	}
	first, err := s.Recv() // with it the door judges the caller: nothing is done before
	if errors.Is(err, io.EOF) {
		return fault.Invalid("There is no backup in the request; send what SaveSnapshot gave.")
	}
	if err != nil {
		return err
	}
	if first.GetRevoke() && first.GetTrust() {
		return fault.Invalid("revoke and trust exclude each other; say one of them.")
	}
	switch leader, err := c.Door.Leader(s.Context()); {
	case err != nil:
		return err
	case leader != "":
		return c.handOn(s, first, leader)
	}
	if err := c.Note(s.Context()); err != nil {
		return err
	}
	others := fsm.OthersUnsaid
	if first.GetRevoke() {
		others = fsm.OthersRevoked
	} else if first.GetTrust() {
		others = fsm.OthersTrusted
	}
	if err := c.Backups.Restore(s.Context(), &chunkReader{from: s, rest: first.GetData()}, others); err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	return s.SendAndClose(base.Read(c.Core, func(st *fsm.View) *vigilv1.RestoreSnapshotResponse {
		return &vigilv1.RestoreSnapshotResponse{Index: st.LastIndex(), Epoch: st.Epoch()}
	}))
}

type chunkReader struct {
	from grpc.ClientStreamingServer[vigilv1.RestoreSnapshotRequest, vigilv1.RestoreSnapshotResponse]
	rest []byte
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		chunk, err := r.from.Recv()
		if err != nil {
			return 0, err // io.EOF is the end
		}
		r.rest = chunk.GetData()
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// handOn copies a restore to the leader and its answer back; chunk is the first one.
func (c *Service) handOn(
	s grpc.ClientStreamingServer[vigilv1.RestoreSnapshotRequest, vigilv1.RestoreSnapshotResponse],
	chunk *vigilv1.RestoreSnapshotRequest, addr string,
) error {
	conn, err := c.Door.Peer(addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(c.Door.Pass(s.Context()))
	defer cancel()
	to, err := vigilv1.NewClusterClient(conn).RestoreSnapshot(ctx)
	if err != nil {
		return err
	}
	for {
		if err := to.Send(chunk); err != nil {
			break // the answer says why
		}
		if chunk, err = s.Recv(); errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	resp, err := to.CloseAndRecv()
	if err != nil {
		return err
	}
	return s.SendAndClose(resp)
}
