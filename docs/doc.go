// Package docs holds what people read. Its tests keep it true: every command of README.md and of
// the guide is run against a real fleet (`vigil dev`), links lead somewhere, and pages stay short.
//
// A page is run from top to bottom in one shell, in a folder of its own. Comments in HTML say what
// a reader does not need to see:
//
//	<!-- test: SHELL -->            run this too, at this place; PID=... here replaces the word PID
//	                                in the blocks that follow
//	<!-- needs: PROGRAM ... -->     the next block runs only where these programs are; root is one
//	<!-- not run: WHY -->           the next block is not run; its commands must exist all the same
//	<!-- another terminal -->       the next block goes on beside the others until the page ends
//	<!-- exit code: N -->           the next block, one command, ends with this code
package docs
