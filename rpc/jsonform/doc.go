// Package jsonform writes messages as JSON, as answers over HTTP and `--json` show them: protojson
// with the names of the .proto files, where what is not there is absent. That are empty texts,
// 64-bit numbers that are 0 (ids, incarnations, revisions) and messages that are not set. Lists,
// maps, counts and yes or no are always there, so that a script finds them. 64-bit numbers are
// texts. The library knows only all or nothing.
package jsonform
