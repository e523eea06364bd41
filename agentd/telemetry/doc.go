// Package telemetry receives what AI tools tell of themselves by OpenTelemetry (OTLP over HTTP) and
// makes totals of each life of it: tokens, cost, uses of tools. Everything that comes in is hostile
// input: bounded, counted, and never kept as text. What a tool says of itself is a measure for brakes
// and for people, not an account.
package telemetry
