//go:build stand

package trust

import (
	"os"
	"time"
)

// Life is the Life of others, unless VIGIL_STAND_CERT_LIFE (a duration of 1s or more) says otherwise: a
// year on the fault stand lasts for minutes, and certificates must be renewed in it.
var Life = func() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("VIGIL_STAND_CERT_LIFE")); err == nil && d >= time.Second {
		return d
	}
	return 24 * time.Hour
}()
