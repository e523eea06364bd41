// Program openapi makes the OpenAPI 3.1 document of the API from the 2.0 document that the generator
// of the gateway writes: `go run ./openapi IN OUT`, in rpc, by `make generate`. It adds what the
// generator does not know: the one shape of errors, which fields are always there, events as a
// stream, the header for write ids; and takes the prefixes of packages out of the names of schemas.
package main
