// Package wiretest makes identities for tests of servers: certificates of an authority that lives as
// long as the test. Production code never imports it.
package wiretest
