package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestS15SecretsThatOthersReadAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(strings.Repeat("s", 64)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(name); err != nil {
		t.Fatalf("a secret of its owner: %v", err)
	}
	for _, mode := range []os.FileMode{0o604, 0o622, 0o644} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSecret(name); err == nil || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("mode %#o: %v, want a refusal with the remedy", mode, err)
		}
	}
}
