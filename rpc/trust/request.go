package trust

import (
	"crypto/sha256"
)

// KeyOf looks at a certificate request in DER, and gives the SHA-256 of the public key that it proves to
// have. The error wraps ErrRequest.
func KeyOf(request []byte) ([]byte, error) {
	csr, err := parseRequest(request)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(csr.RawSubjectPublicKeyInfo)
	return sum[:], nil
}
