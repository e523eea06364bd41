// Command build makes rpc/web/assets of rpc/web/src and rpc/web/lib: the page, its types from the OpenAPI
// document, and the licences of what it is made of. `make web` runs it. It is a module of its own, so that
// the program that is shipped depends on no bundler.
package main
