// Package hosts is `vigil host`: how worker machines are and why, draining them, giving them up.
package hosts
