// Package base is what all services of rpc stand on: the replica and the way to it. Services read, write and
// find things through it; none of them knows another.
package base
