package gossip

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/memberlist"
)

// ReadKey reads the key from a file that holds 16, 24 or 32 bytes in base64. A file
// that others can read is refused.
func ReadKey(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read gossip key: %w: make one with vigil keygen %s and copy it to all "+
			"servers and hosts", err, file)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("read gossip key: %s has mode %#o, anybody on this machine could read it: chmod o-rwx %s",
			file, info.Mode().Perm(), file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read gossip key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || memberlist.ValidateKey(key) != nil {
		return nil, fmt.Errorf("read gossip key: %s does not hold 16, 24 or 32 bytes in base64: make "+
			"one with vigil keygen", file)
	}
	return key, nil
}

// WriteKey makes a key of 32 random bytes and writes it to a new file that only its
// owner can read.
func WriteKey(file string) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write gossip key: %w", err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write gossip key: there is a file %s already, which is left as it is: give another name, "+
			"or remove it when nobody uses it", file)
	}
	if err != nil {
		return fmt.Errorf("write gossip key: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write gossip key: %w", err)
	}
	return nil
}
