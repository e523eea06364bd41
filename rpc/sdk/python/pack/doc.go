// Program pack makes the wheel of the Python SDK, for `make dist`: pack -version V -at UNIX -out DIR. Two runs
// give the same bytes.
package main
