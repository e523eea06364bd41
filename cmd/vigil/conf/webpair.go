//go:build unix

package conf

import (
	"crypto/tls"
	"fmt"
	"os"
	"time"
)

// WebEnded says that the operator's own certificate has ended.
type WebEnded struct {
	File string
	End  time.Time
}

func (e *WebEnded) Error() string {
	return fmt.Sprintf("http_cert and http_key: the certificate in %s ended on %s: "+
		"put a new one there, or take both keys out of the configuration",
		e.File, e.End.UTC().Format(time.DateTime))
}

// WebPair reads the certificate of the operator's own and its key; nil: there is none. A key that everybody may
// read is an error, as files are that do not fit together; of a certificate that has ended it is a WebEnded.
func (f *Server) WebPair(now time.Time) (*tls.Certificate, error) {
	if f.HTTPCert == "" {
		return nil, nil
	}
	if info, err := os.Stat(f.HTTPKey); err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("http_cert and http_key: %s may be read by everybody: "+
			"run chmod 600 on it, and think about who did", f.HTTPKey)
	}
	pair, err := tls.LoadX509KeyPair(f.HTTPCert, f.HTTPKey)
	if err != nil {
		return nil, fmt.Errorf("http_cert and http_key: %s and %s are no pair of a certificate and its key in PEM: %w",
			f.HTTPCert, f.HTTPKey, err)
	}
	if end := pair.Leaf.NotAfter; !now.Before(end) {
		return nil, &WebEnded{f.HTTPCert, end}
	}
	return &pair, nil
}
