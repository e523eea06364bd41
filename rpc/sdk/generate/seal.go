package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// sealFile holds the sum of the sources of which the package for TypeScript was made.
const sealFile = "dist.sum"

// seal is the sum of all sources of the package for TypeScript: who has no compiler sees by it whether what is
// shipped was made of them.
func seal(folder string) (string, error) {
	names, err := filepath.Glob(filepath.Join(folder, "src", "*.ts"))
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("%s holds no sources: %w", folder, err)
	}
	for _, name := range []string{"tsconfig.json", "build/package-lock.json"} {
		names = append(names, filepath.Join(folder, name))
	}
	h := sha256.New()
	for _, name := range names {
		if base := filepath.Base(name); base == "messages.ts" || base == "calls.ts" {
			continue // of these, this program makes what is shipped
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.Base(name), len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)) + "\n", nil
}

// putSeal notes of what the package for TypeScript in folder was made.
func putSeal(folder string) error {
	sum, err := seal(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, sealFile), []byte(sum), 0o644)
}
