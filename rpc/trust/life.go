//go:build !stand

package trust

import "time"

// Life is how long a leaf of a server or host may be used; its holder renews it at one half, or before.
const Life = 24 * time.Hour
