package shim

import "time"

const (
	// maxNotes is how many words may wait for the disk; more are dropped.
	maxNotes = 64
	// notesLimit is how long the last words are awaited.
	notesLimit = time.Second
)

// notes puts the shim's own words into the agent's log. Whoever says one never waits
// for the disk: one that hangs must not hold the switch open (law L7).
type notes struct {
	words   chan string
	written chan struct{} // closed when there are no more
}

// takeNotes gives notes that write puts down, one at a time. Call close at the end.
func takeNotes(write func(string)) *notes {
	n := &notes{words: make(chan string, maxNotes), written: make(chan struct{})}
	go func() {
		defer close(n.written)
		for word := range n.words {
			write(word)
		}
	}()
	return n
}

// Note adds a word. When too many wait it is dropped.
func (n *notes) Note(word string) {
	select {
	case n.words <- word:
	default:
	}
}

// close waits until all is written, for notesLimit at most. Nothing may be noted
// any more.
func (n *notes) close() {
	close(n.words)
	timer := time.NewTimer(notesLimit)
	defer timer.Stop()
	select {
	case <-n.written:
	case <-timer.C:
	}
}
