// Package linktest has connections and networks in memory for tests: links that go dead without
// a word, in simulated time (testing/synctest) too.
package linktest
