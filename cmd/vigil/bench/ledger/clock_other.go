//go:build !linux

package ledger

import "time"

var began = time.Now()

// Now is monotonic; stands exist on Linux only.
func Now() int64 { return int64(time.Since(began)) }
