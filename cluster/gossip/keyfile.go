package gossip

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxKeyFile bounds what is read of a file of keys, in bytes; it has some hundred.
const maxKeyFile = 64 << 10

// KeyFile is the file in which a server or host keeps the keys of gossip that come by themselves (0600).
// What is written is on the disk before the name shows it.
type KeyFile string

// keyText is a key as it stands in a file.
type keyText struct {
	Number uint64 `json:"number"`
	Secret []byte `json:"secret"`
	Used   bool   `json:"used,omitempty"`
}

// Read gives the keys; none when there is no file. A file that others may read, or that is damaged, is not
// believed: the error says what to do, and the keys come again from a server.
func (f KeyFile) Read() ([]Key, error) {
	info, err := os.Stat(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read gossip keys: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("read gossip keys: %s has mode %#o, others on this machine could read it: "+
			"have the keys replaced with `vigil gossip rotate`", f, info.Mode().Perm())
	}
	if info.Size() > maxKeyFile {
		return nil, fmt.Errorf("read gossip keys: %s has %d bytes, it is none of ours: remove it", f, info.Size())
	}
	text, err := os.ReadFile(string(f))
	if err != nil {
		return nil, fmt.Errorf("read gossip keys: %w", err)
	}
	var list []keyText
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("read gossip keys: %s is damaged: the keys come again by themselves", f)
	}
	keys := make([]Key, len(list))
	for i, k := range list {
		if keys[i] = Key(k); len(k.Secret) != KeySize {
			return nil, fmt.Errorf("read gossip keys: %s is damaged: the keys come again by themselves", f)
		}
	}
	return keys, nil
}

// Write replaces the keys. After a crash there are the old ones or the new ones, whole.
func (f KeyFile) Write(keys []Key) (err error) {
	list := make([]keyText, len(keys))
	for i, k := range keys {
		list[i] = keyText(k)
	}
	slices.SortFunc(list, func(a, b keyText) int { return cmp.Compare(a.Number, b.Number) })
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("write gossip keys: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write gossip keys: %w", err)
		}
	}()
	dir := filepath.Dir(string(f))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(dir, filepath.Base(string(f))+".*.new") // 0600
	if err != nil {
		return err
	}
	_, err = fresh.Write(append(text, '\n'))
	if err = errors.Join(err, fresh.Sync(), fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), string(f))
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh.Name())) // it is of no use
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
