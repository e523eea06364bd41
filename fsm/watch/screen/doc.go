// Package screen is what hosts see on the terminals of their agents: which kind of prompt stands there, never the
// text. It is evidence like any other, and calls a human for a permission prompt that stands for too long, or for an
// agent that has said for as long that it waits for one. And it is who types there: one human at a time, while vigil's
// own hands keep off.
package screen
