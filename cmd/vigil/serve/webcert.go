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
	cert   *tls.Certificate // nil: the files have had none that can be used since the server started
	until  time.Time        // its end; without one that of the one in the files, or when the server started
	stamps [2]time.Time     // when the files were changed last, as of cert
	said   string           // what was wrong with the files when they were read last
	looked time.Time
}

// openWebCert reads the certificate; nil: there is none. One that has ended, or cannot be read, keeps no server from
// its start: a cluster that comes back from an outage must not lack its servers for what only browsers see. They see
// the server's own certificate until the files have one that can be used.
func openWebCert(c *conf.Server, log hclog.Logger) *webCert {
	if c.HTTPCert == "" {
		return nil
	}
	w := &webCert{conf: c, log: log, looked: time.Now()}
	err := w.read()
	if err == nil {
		return w
	}
	w.until, w.said = w.looked, err.Error()
	if ended := (*conf.WebEnded)(nil); errors.As(err, &ended) {
		w.until = ended.End
	}
	log.Error("http_cert is not shown, browsers see the certificate of this server", "error", err)
	return w
}

// figures shows for how long the certificate still counts. Whoever reads them has the files looked at.
func (w *webCert) figures(to prometheus.Registerer) error {
	return to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "vigil_http_cert_expires_seconds",
		Help: "Time until the certificate of http_cert ends, by the clock of this machine; below zero: none can be used."},
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
		w.again()
	}
	return w.cert, w.until
}

// again reads files that have changed, or could not be used: a right that was given changes no time of a file. The
// caller holds mu.
func (w *webCert) again() {
	if now, err := w.changed(); err == nil && now == w.stamps && w.said == "" {
		return
	}
	err := w.read()
	switch {
	case err == nil:
		w.said = ""
		w.log.Info("http_cert read again", "until", w.until)
	case err.Error() == w.said:
	case w.cert == nil:
		w.said = err.Error()
		w.log.Warn("http_cert and http_key cannot be used, browsers see the certificate of this server", "error", err)
	default:
		w.said = err.Error()
		w.log.Warn("http_cert and http_key cannot be used, the certificate read before stays", "error", err,
			"until", w.until)
	}
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
