// Package ui is `vigil ui`: the page for the browser of the person at this machine. It serves the page on
// loopback, holds the login, and follows the servers as every command does, so the page goes on through the
// loss of any of them. A browser signs in by a one-time link.
package ui
