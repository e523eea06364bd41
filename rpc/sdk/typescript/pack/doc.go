// Program pack makes the npm tarball of the TypeScript SDK, for `make dist`: pack -version V -at UNIX -out DIR. Two
// runs give the same bytes.
package main
