// Package python holds the Python SDK, in vigil: workers and clients in Python, with the standard library
// only. What is Go here are its tests and the table of methods that is made for it.
package python
