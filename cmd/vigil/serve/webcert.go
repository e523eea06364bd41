package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"vigil/cmd/vigil/conf"
)

// webCertLook is how often the files of an operator's own certificate are looked at, while somebody asks.
const webCertLook = 10 * time.Second

// webCert is a certificate of the operator's own, for browsers and tools. A file that changes is read again;
// one that cannot be used changes nothing. Its method may be called by any goroutine.
type webCert struct {
	certFile, keyFile string
	log               hclog.Logger

	mu     sync.Mutex
	cert   *tls.Certificate
	stamps [2]time.Time // when the files were changed last, as far as they were read
	looked time.Time
}

// openWebCert reads the certificate; nil: there is none.
func openWebCert(c *conf.Server, log hclog.Logger) (*webCert, error) {
	if c.HTTPCert == "" {
		return nil, nil
	}
	w := &webCert{certFile: c.HTTPCert, keyFile: c.HTTPKey, log: log, looked: time.Now()}
	if err := w.read(); err != nil {
		return nil, fmt.Errorf("http_cert and http_key: %w", err)
	}
	return w, nil
}

// Get gives the certificate that is in the files.
func (w *webCert) Get() *tls.Certificate {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) >= webCertLook {
		w.looked = time.Now()
		if now, err := w.changed(); err != nil || now != w.stamps {
			if err = errors.Join(err, w.read()); err != nil {
				w.stamps = now // it is said once
				w.log.Warn("http_cert and http_key cannot be used, the certificate read before stays", "error", err)
			} else {
				w.log.Info("http_cert read again", "until", w.cert.Leaf.NotAfter)
			}
		}
	}
	return w.cert
}

// read reads both files. The caller holds mu, or nobody else knows of w.
func (w *webCert) read() error {
	stamps, err := w.changed()
	if err != nil {
		return err
	}
	if info, err := os.Stat(w.keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		return fmt.Errorf("%s may be read by everybody: run chmod 600 on it, and think about who did", w.keyFile)
	}
	cert, err := tls.LoadX509KeyPair(w.certFile, w.keyFile)
	if err != nil {
		return fmt.Errorf("%s and %s are no pair of a certificate and its key in PEM: %w", w.certFile, w.keyFile, err)
	}
	w.cert, w.stamps = &cert, stamps
	return nil
}

func (w *webCert) changed() (at [2]time.Time, err error) {
	for i, name := range [...]string{w.certFile, w.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return at, err
		}
		at[i] = info.ModTime()
	}
	return at, nil
}
