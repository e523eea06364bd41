package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"

	"vigil/fsm"
)

// Verify reads a backup from where it is stored and compares its sum with the one in its name. It needs
// no key. ErrDamaged: it was read to its end and is another one.
func Verify(ctx context.Context, from Target, n Name) error {
	_, err := Fetch(ctx, from, n, io.Discard)
	return err
}

// Fetch copies what is stored and gives its size in bytes; errors as for Verify.
func Fetch(ctx context.Context, from Target, n Name, to io.Writer) (int64, error) {
	in, err := from.Open(ctx, n)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	hash := sha256.New()
	size, err := io.Copy(newMeasured(ctx, io.MultiWriter(hash, to)), in)
	if err != nil {
		return size, fmt.Errorf("read backup %s: %w", n, err)
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); !strings.HasPrefix(sum, n.Sum) {
		return size, fmt.Errorf("%w: the SHA-256 of %s is %s, it was cut off or changed: use another one", ErrDamaged, n, sum)
	}
	return size, nil
}

// ErrNoKey: it is encrypted, and no identity was given.
var ErrNoKey = errors.New("the backup is encrypted: give the identity that belongs to one of its recipients")

// Decrypt gives the clear text of what is stored.
func Decrypt(n Name, stored io.Reader, keys []age.Identity) (io.Reader, error) {
	if !n.Encrypted {
		return stored, nil
	}
	if len(keys) == 0 {
		return nil, ErrNoKey
	}
	out, err := age.Decrypt(bufio.NewReaderSize(stored, bufferSize), keys...)
	if err != nil {
		return nil, fmt.Errorf("decrypt backup %s: %w", n, err)
	}
	return out, nil
}

// Load restores a backup in memory, and tells whether the state breaks a law.
func Load(clear io.Reader) (*fsm.State, error) {
	state, err := fsm.Load(bufio.NewReaderSize(clear, bufferSize))
	if err != nil {
		return nil, fmt.Errorf("the backup cannot be restored: %w", err)
	}
	if err := state.Check(); err != nil {
		return nil, fmt.Errorf("the backup breaks a law: %w", err)
	}
	return state, nil
}
