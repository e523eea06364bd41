// Package who says who calls: what a connection or a token claims, and the principal that the
// cluster takes it for. It reads no state and checks no certificate.
package who
