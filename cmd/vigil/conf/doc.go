// Package conf reads the files that people write: the configuration of a server and of agentd,
// runners, rooms and the parts that these share. Decoding is strict; every mistake is told with its
// file, line and column, and with its remedy. Nothing here opens a connection that asks or starts
// anything.
package conf
