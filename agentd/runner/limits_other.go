//go:build !linux

package runner

const limitsWork = false
