//go:build stand

package conf

// onlyLoopback is lifted for the fault stand; see loopback.go.
const onlyLoopback = false
