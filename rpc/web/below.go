package web

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// basePath is a path below which a page can be served; maxBase is its longest, in bytes.
var basePath = regexp.MustCompile(`^/([A-Za-z0-9_~-][A-Za-z0-9._~-]*/)*$`)

const maxBase = 200

// CheckBase refuses what is no path below which a page can be served: it begins and ends with a slash, and has
// nothing between that means something else than it shows.
func CheckBase(base string) error {
	if len(base) > maxBase || !basePath.MatchString(base) {
		return fmt.Errorf("%q is no path of a page: write it like /vigil/", base)
	}
	return nil
}

// Below serves next at / and below base, for proxies that pass the path on as browsers ask for it, and for those
// that strip it. base is "", or as CheckBase wants it.
func Below(base string, next http.Handler) http.Handler {
	if base == "" || base == "/" {
		return next
	}
	inner := http.StripPrefix(strings.TrimSuffix(base, "/"), next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path+"/" == base: // the page names its parts from where it is
			http.Redirect(w, r, base, http.StatusPermanentRedirect)
		case strings.HasPrefix(r.URL.Path, base):
			inner.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
