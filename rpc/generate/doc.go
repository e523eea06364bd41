// Program generate makes rpc/gen from rpc/proto: `go run ./generate PLUGINS`, in rpc, by `make generate`.
// PLUGINS is the folder with the plugins of protoc, which make installs at pinned versions. protocompile reads
// the .proto files, each plugin gets them as protoc would hand them over, and the folder gen is replaced once all of
// them have answered. What the files import beside each other is vendored, so that nothing is fetched.
package main
