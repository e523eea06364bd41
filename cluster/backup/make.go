package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"filippo.io/age"

	"vigil/fsm"
)

// ErrDamaged: what is stored is not what was written.
var ErrDamaged = errors.New("the stored backup is damaged")

// bufferSize of reading and writing, bytes.
const bufferSize = 256 << 10

// measured passes bytes on, counts them and sums them up. It stops when its context ends.
type measured struct {
	ctx  context.Context
	to   io.Writer
	size int64
	hash interface {
		io.Writer
		Sum([]byte) []byte
	}
}

func newMeasured(ctx context.Context, to io.Writer) *measured {
	return &measured{ctx: ctx, to: to, hash: sha256.New()}
}

func (m *measured) Write(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.to.Write(p)
	m.size += int64(n)
	_, _ = m.hash.Write(p[:n]) // a hash takes everything
	return n, err
}

func (m *measured) done() [sha256.Size]byte { return [sha256.Size]byte(m.hash.Sum(nil)) }

// shown is how a sum stands in a name.
func shown(sum [sha256.Size]byte) string { return hex.EncodeToString(sum[:])[:sumChars] }

// plain is what is known of the clear text of a backup.
type plain struct {
	size int64
	sum  [sha256.Size]byte
}

// rehearse restores a state in memory from its own dump and compares: what cannot be restored is no
// backup. It needs the memory of a second state while it runs.
func rehearse(ctx context.Context, img *fsm.Image) (plain, error) {
	in, out := io.Pipe()
	type loaded struct {
		state *fsm.State
		err   error
	}
	got := make(chan loaded, 1)
	go func() {
		state, err := fsm.Load(bufio.NewReaderSize(in, bufferSize))
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		_ = in.CloseWithError(err) // nil: whoever writes on hears of a closed pipe
		got <- loaded{state, err}
	}()
	m := newMeasured(ctx, out)
	err := dump(img, m)
	_ = out.CloseWithError(err) // nil is the end
	l := <-got
	if err := errors.Join(err, l.err); err != nil {
		return plain{}, fmt.Errorf("restore the state in memory: %w", err)
	}
	if err := l.state.Check(); err != nil {
		return plain{}, fmt.Errorf("restore the state in memory: it breaks a law: %w", err)
	}
	if l.state.Hash() != img.Hash() {
		return plain{}, errors.New("restore the state in memory: it is another one than was saved; please report it")
	}
	return plain{m.size, m.done()}, nil
}

func dump(img *fsm.Image, to io.Writer) error {
	buf := bufio.NewWriterSize(to, bufferSize)
	return errors.Join(img.Dump(buf), buf.Flush())
}

// Make stores a backup of a state and reads it back from where it went. Without recipients it is in clear.
// With an error nothing is stored, unless what was read back was damaged (ErrDamaged): that stays to be looked at.
func Make(ctx context.Context, to Target, cluster string, img *fsm.Image, recipients []age.Recipient,
	now time.Time) (Name, error) {
	n := Name{Cluster: cluster, Index: img.Index(), Unix: now.Unix(), Encrypted: len(recipients) > 0}
	if !rightCluster(cluster) {
		return n, fmt.Errorf("make backup: the cluster's id %q cannot be in the name of a file", cluster)
	}
	clear, err := rehearse(ctx, img)
	if err != nil {
		return n, err
	}
	draft, err := to.Create(ctx, clear.size+clear.size/1000+4096) // age adds 16 bytes to 64 KiB, and a header
	if err != nil {
		return n, err
	}
	defer draft.Discard()
	sum, err := write(ctx, draft, img, clear, recipients)
	if err != nil {
		return n, err
	}
	n.Sum = shown(sum)
	if err := draft.Commit(ctx, n); err != nil {
		return n, err
	}
	return n, Verify(ctx, to, n)
}

// write fills a draft, and gives the sum of what it holds.
func write(ctx context.Context, draft io.Writer, img *fsm.Image, clear plain,
	recipients []age.Recipient) (sum [sha256.Size]byte, err error) {
	stored := newMeasured(ctx, draft)
	buf := bufio.NewWriterSize(stored, bufferSize)
	var lock io.WriteCloser
	content := newMeasured(ctx, buf)
	if len(recipients) > 0 {
		if lock, err = age.Encrypt(buf, recipients...); err != nil {
			return sum, fmt.Errorf("encrypt backup: %w", err)
		}
		content = newMeasured(ctx, lock)
	}
	err = dump(img, content)
	if err == nil && lock != nil {
		err = lock.Close()
	}
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		return sum, fmt.Errorf("write backup: %w", err)
	}
	if content.done() != clear.sum {
		return sum, errors.New("write backup: the state was written in two ways; please report it")
	}
	return stored.done(), nil
}
