package noun

// Limits of the audit. Texts are in bytes; what is longer is cut.
const (
	MaxAudit       = 10_000 // entries that are kept
	MaxAuditMethod = 64
	MaxAuditRoom   = 128
	MaxAuditSource = 64
	MaxDigest      = 32 // hexadecimal digits of a digest
)

// Audit is one entry of the audit: a write of a person or an API token that was done. What was written
// is not in it.
type Audit struct {
	Seq    uint64 // its number, from 1
	Index  uint64 // of the log entry
	At     Time
	Wall   Wall
	Who    string // as user/anna or token/7
	Method string // of the API, as Fleet/ApplyRoom
	Room   string // that it was about; empty: none, or several
	Source string // the address that it came from
	Digest string // the first half of the SHA-256 sum of the request, in hexadecimal digits
}
