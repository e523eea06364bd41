package serve

import (
	"crypto/tls"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"

	"vigil/cmd/vigil/conf"
)

// webCertLook is how often the files of an operator's own certificate are looked at, while somebody asks.
const webCertLook = 10 * time.Second

// webCert is a certificate of the operator's own, for browsers and tools. A file that changes is read again;
// one that cannot be used changes nothing. Its methods may be called by any goroutine.
type webCert struct {
	conf *conf.Server
	log  hclog.Logger

	mu     sync.Mutex
	cert   *tls.Certificate // nil: that in the files had ended when the server started
	until  time.Time        // its end
	stamps [2]time.Time     // when the files were changed last, as far as they were read
	looked time.Time
}

// openWebCert reads the certificate; nil: there is none. One that has ended keeps no server from its start: a
// cluster that comes back from an outage must not lack its servers for what only browsers see. They see the
// server's own certificate until the files have a new one.
func openWebCert(c *conf.Server, log hclog.Logger) (*webCert, error) {
	if c.HTTPCert == "" {
		return nil, nil
	}
	w := &webCert{conf: c, log: log, looked: time.Now()}
	err := w.read()
	if ended := (*conf.WebEnded)(nil); errors.As(err, &ended) {
		w.until = ended.End
		w.stamps, _ = w.changed() // else it is read again
		log.Error("http_cert is not shown, browsers see the certificate of this server", "error", err)
		return w, nil
	}
	if err != nil {
		return nil, err
	}
	return w, nil
}

// figures shows for how long the certificate still counts. Whoever reads them has the files looked at.
func (w *webCert) figures(to prometheus.Registerer) error {
	return to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vigil_http_cert_expires_seconds",
		Help: "Time until the certificate of http_cert ends, by the clock of this machine; below zero: it has ended."},
		func() float64 {
			_, until := w.look()
			return time.Until(until).Seconds()
		}))
}

// Get gives the certificate that is in the files; nil: they have had none that counts.
func (w *webCert) Get() *tls.Certificate {
	cert, _ := w.look()
	return cert
}

// look gives the certificate and its end.
func (w *webCert) look() (*tls.Certificate, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) >= webCertLook {
		w.looked = time.Now()
		if now, err := w.changed(); err != nil || now != w.stamps {
			if err = errors.Join(err, w.read()); err != nil {
				w.stamps = now // it is said once
				w.log.Warn("http_cert and http_key cannot be used, the certificate read before stays", "error", err,
					"until", w.until)
			} else {
				w.log.Info("http_cert read again", "until", w.until)
			}
		}
	}
	return w.cert, w.until
}

// read reads both files. The caller holds mu, or nobody else knows of w.
func (w *webCert) read() error {
	stamps, err := w.changed()
	if err != nil {
		return err
	}
	cert, err := w.conf.WebPair(time.Now())
	if err != nil {
		return err
	}
	w.cert, w.until, w.stamps = cert, cert.Leaf.NotAfter, stamps
	return nil
}

func (w *webCert) changed() (at [2]time.Time, err error) {
	for i, name := range [...]string{w.conf.HTTPCert, w.conf.HTTPKey} {
		info, err := os.Stat(name)
		if err != nil {
			return at, err
		}
		at[i] = info.ModTime()
	}
	return at, nil
}
