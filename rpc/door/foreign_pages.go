package door

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"vigil/rpc/code"
	"vigil/rpc/fault"
)

// pages keeps web pages of others from speaking to this server through the browser of somebody who can
// reach it. A page may send a request anywhere (CSRF), and a name that its owner points at this server's
// address lets it read the answers too (DNS rebinding). Neither needs a password that is not there yet,
// and neither works against clients that are no browsers.
type pages struct {
	hosts []string // names under which this server is asked, lower case
	cross *http.CrossOriginProtection
	deny  func(http.ResponseWriter, *fault.Error)
}

func newPages(hosts []string, deny func(http.ResponseWriter, *fault.Error)) *pages {
	p := &pages{cross: http.NewCrossOriginProtection(), deny: deny}
	for _, h := range hosts {
		p.hosts = append(p.hosts, strings.ToLower(h))
	}
	return p
}

// guard refuses what such pages could send. Probes are open: they tell nothing and do nothing.
func (p *pages) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if r.URL.Path != "/livez" && r.URL.Path != "/readyz" {
			if bad := p.check(r); bad != nil {
				p.deny(w, bad)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (p *pages) check(r *http.Request) *fault.Error {
	if !p.knows(r.Host) {
		return fault.New(code.WrongOrigin,
			"This server does not answer as %s: ask it by its IP address or the name in its api_addr, "+
				"or list the name under http_hosts in its configuration.", fault.Quote(r.Host))
	}
	site := r.Header.Get("Sec-Fetch-Site")
	// a link that a person followed
	opened := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	if (site == "cross-site" || site == "same-site") && !opened || p.cross.Check(r) != nil {
		return fault.New(code.WrongOrigin, "%s", "A web page of another site sent this (Origin "+
			fault.Quote(r.Header.Get("Origin"))+"); nothing was done.")
	}
	if r.ContentLength == 0 {
		return nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return fault.New(code.WrongType,
			"The body is declared as %s. Send JSON, and say so: Content-Type: application/json (curl: "+
				"--json instead of -d).", fault.Quote(r.Header.Get("Content-Type")))
	}
	return nil
}

// knows tells whether a request names this server as its owners do. An address is never a name
// that somebody else could point here.
func (p *pages) knows(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || slices.Contains(p.hosts, host)
}
