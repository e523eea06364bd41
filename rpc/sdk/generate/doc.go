// Program generate makes what the SDKs know of the API, in Python and in TypeScript: its messages, its calls
// and its errors. `go run ./sdk/generate`, in rpc, by `make generate`. Shapes and texts come from the OpenAPI
// document, what may be repeated and what errors mean from rpc/code. `generate seal FOLDER`, by
// `make sdk`, notes of which sources the package for TypeScript was made.
package main
