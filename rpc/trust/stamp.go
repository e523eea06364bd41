package trust

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"time"
)

// Lives in cluster time.
const (
	// UserLife is how long that of a person may be used.
	UserLife = 12 * time.Hour
	// Grace is for how long an older leaf of the present generation may be used to renew itself.
	Grace = 30 * 24 * time.Hour
	// IssuerRenew is the age from which a server asks for its next issuing key. Only browsers and tools mind
	// when that does not come: they see the 90 days of its certificate.
	IssuerRenew = 60 * 24 * time.Hour
)

// Ages from which holders renew their leaves. A host often goes by no clock but its own.
var (
	RenewServer = Life / 2
	RenewHost   = Life / 4
)

// RenewUser is that age of a person's: the next command renews it.
const RenewUser = UserLife / 2

// LifeOf is how long a leaf may be used.
func LifeOf(k Kind) time.Duration {
	if k == User {
		return UserLife
	}
	return Life
}

// RenewAfter is the age from which a leaf is renewed.
func RenewAfter(k Kind) time.Duration {
	switch k {
	case User:
		return RenewUser
	case Host:
		return RenewHost
	}
	return RenewServer
}

// stampID names the extension that holds a Stamp. Below 2.25 everybody may use a random number of
// their own (ITU-T X.667).
var stampID = asn1.ObjectIdentifier{2, 25, 1_186_249_013}

// Stamp is when a certificate was issued, in the terms of the replicated state.
type Stamp struct {
	Clock      int64  // cluster time in ns
	Epoch      uint64 // of the state: a restore of a backup raises it
	Generation uint64 // of the holder: raising it revokes what was issued before
}

// stampForm is the extension's value.
type stampForm struct {
	Clock, Epoch, Generation int64
}

func (s Stamp) extension() (pkix.Extension, error) {
	value, err := asn1.Marshal(stampForm{s.Clock, int64(s.Epoch), int64(s.Generation)})
	return pkix.Extension{Id: stampID, Value: value}, err // not critical: others may not know it
}

var errStamp = errors.New("the certificate does not say when in cluster time it was issued")

// StampOf reads when a certificate was issued; an error: it is none of this package.
func StampOf(c *x509.Certificate) (Stamp, error) {
	for _, e := range c.Extensions {
		if !e.Id.Equal(stampID) {
			continue
		}
		var f stampForm
		rest, err := asn1.Unmarshal(e.Value, &f)
		if err != nil || len(rest) > 0 || f.Clock < 0 || f.Epoch < 0 || f.Generation < 0 {
			return Stamp{}, errStamp
		}
		return Stamp{f.Clock, uint64(f.Epoch), uint64(f.Generation)}, nil
	}
	return Stamp{}, errStamp
}
