// Package starter is `vigil new`: it writes a worker of one's own, with its room and its runner, ready to be
// applied. What it writes is in templates; the SDK that the worker needs comes along.
package starter
