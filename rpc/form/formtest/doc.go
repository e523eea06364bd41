// Package formtest fuzzes what rooms of rpc make of requests.
package formtest
