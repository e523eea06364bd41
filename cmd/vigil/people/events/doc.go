// Package events is `vigil events`: the history and what happens from now on, or with --audit who has changed
// what. Whoever waits for something follows events by Watch and Signals, which go on at another server when
// one is lost.
package events
