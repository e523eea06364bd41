package term

import (
	"crypto/rand"
	"fmt"
	"strings"
)

// Quoted is what others wrote, for an agent that reads it, between two lines that say so. Whoever wrote it
// cannot have known the mark, so nothing in it can pass for the end of it, or for words of vigil.
func Quoted(by string, parts ...string) string {
	var texts []string
	for _, part := range parts {
		if part = strings.TrimRight(part, "\n"); part != "" {
			texts = append(texts, part)
		}
	}
	mark := rand.Text()[:8]
	return fmt.Sprintf("--- %s: written by %s ---\n%s\n--- %s: end ---",
		mark, OneLine(by), strings.Join(texts, "\n\n"), mark)
}
