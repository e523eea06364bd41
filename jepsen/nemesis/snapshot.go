//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"vigil/jepsen/stand"
	"vigil/rpc/gen/vigilv1"
)

func snapshotKinds() []*Kind {
	return []*Kind{
		{Name: "snapshot_saved", Lane: Servers, Weight: 2,
			Says: "A snapshot of everything is fetched, 1 to 5 times in a row.", Strike: snapshotSaved},
		{Name: "snapshot_cut_short", Lane: Servers, Weight: 2, Takes: true, Strike: snapshotCutShort,
			Says: "The leader is killed while a snapshot of everything is being fetched."},
	}
}

// fetch reads a whole snapshot and gives its size.
func fetch(ctx context.Context, f *Field) (size int, err error) {
	stream, err := f.Cluster.SaveSnapshot(ctx, &vigilv1.SaveSnapshotRequest{})
	if err != nil {
		return 0, err
	}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		size += len(chunk.GetData())
	}
}

func snapshotSaved(ctx context.Context, f *Field, _ *stand.Host, r *rand.Rand) (Struck, error) {
	note := ""
	for range 1 + r.IntN(5) {
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		size, err := fetch(call, f)
		cancel()
		if err != nil {
			note += fmt.Sprintf("%v; ", err)
			continue
		}
		note += fmt.Sprintf("%d bytes; ", size)
	}
	return Struck{Note: note}, nil
}

func snapshotCutShort(ctx context.Context, f *Field, on *stand.Host, r *rand.Rand) (Struck, error) {
	call, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	done := make(chan string, 1)
	go func() {
		size, err := fetch(call, f)
		done <- fmt.Sprintf("%d bytes came, %v", size, err)
	}()
	f.Pause(ctx, time.Duration(r.IntN(20))*time.Millisecond)
	struck, err := killed(leading, 0, 0.5)(ctx, f, on, r)
	cancel()
	struck.Note += "; " + <-done
	return struck, err
}
