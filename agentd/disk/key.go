package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var keyPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// readKey gives the host's key. The first time it makes one, or takes over the wanted one; later no
// other one is taken.
func readKey(dir, wanted string) (string, error) {
	path := filepath.Join(dir, KeyFile)
	key, err := keyIn(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return makeKey(dir, path, wanted)
	case err != nil:
		return "", fmt.Errorf("read host key: %w; restore it, "+
			"or remove it to join as a new host once the fences of the old one have ended", err)
	case wanted != "" && key != wanted:
		return "", fmt.Errorf("read host key: %s belongs to another host than the copy: name the data "+
			"directory of that host, or a new one", path)
	}
	return key, nil
}

// HostKey gives the key of the host whose data directory path is, or will be: a new one gets its
// key here, or takes over that of the file keyCopy, if one is named. It is the host's name in certificates.
func HostKey(path, keyCopy string) (string, error) {
	d, err := Open(path, keyCopy)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.Key, nil
}

func keyIn(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(text))
	if !keyPattern.MatchString(key) {
		return "", fmt.Errorf("%s does not hold 32 hexadecimal digits", path)
	}
	return key, nil
}

func makeKey(dir, path, key string) (string, error) {
	if key == "" {
		key = newKey()
	}
	if err := Write(dir, path, key+"\n"); err != nil {
		return "", fmt.Errorf("make host key: %w", err)
	}
	return key, nil
}

func newKey() string {
	raw := make([]byte, 16)
	rand.Read(raw) // never fails
	return hex.EncodeToString(raw)
}

// telemetryKey gives what the tokens of telemetry are made with. One that is missing or damaged is made anew: only
// the telemetry of lives that run already is refused then.
func telemetryKey(dir string) (string, error) {
	path := filepath.Join(dir, telemetryKeyFile)
	if key, err := keyIn(path); err == nil {
		return key, nil
	}
	key := newKey()
	if err := Write(dir, path, key+"\n"); err != nil {
		return "", fmt.Errorf("make key of telemetry: %w", err)
	}
	return key, nil
}

// Boot gives the kernel's boot id, 36 characters.
func Boot() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
