package noun

// Refusal names an entry of the log that every server passes over.
type Refusal struct {
	Index uint64
	Sum   string // SHA-256 of what the entry held, in hexadecimal digits
}
