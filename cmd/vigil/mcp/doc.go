// Package mcp is `vigil mcp`: an agent of its own that gives its tools to a model over standard
// input and output. The model decides about work; joining, beating and leaving are the process's.
package mcp
