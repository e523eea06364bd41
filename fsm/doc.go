// Package fsm is vigil's replicated state machine: the nouns (rooms, roles, agents, tasks, hosts,
// orders, sessions, settings, events), the laws that bind them, and Apply, which turns one log
// entry into the next state.
//
// The package and all beneath it are pure. They read no clock, no random source, no file and no
// network; they start no goroutine, take no lock and write no log line. Apply reads nothing but the
// state and the entry, so all servers hold the same state at the same log index (law L12). What the
// outside world has to do after an entry (wake a waiter, push an order) is returned as Effects;
// the state machine never calls out.
//
// # Packages
//
//	fsm         the face for rpc, cluster and duties: New, Load, View, Check, dumps, all commands by name
//	watch/...   one watchdog each, in the code also called a feature: mail, escalation, silence, ladder, chain, screen,
//	            budget
//	due         the table of deadlines: what is due, when, and what holds its clock
//	evidence    the signals of an agent, gathered for whoever judges it
//	core        rooms, roles, agents, tasks, hosts, sessions, orders; Apply; the hooks
//	trust       who may speak to the cluster: tokens, credentials, users, roots
//	judge       verdicts, pure functions of plain structs
//	noun        the types with their words and checks
//	table       copy-on-write tables with typed keys
//	image       the form of dumps
//
// Arrows go down only. A feature looks at the core and hangs on its hooks; the core names no feature,
// and features never import each other. CONTRIBUTING.md tells how one is added, and how it goes.
//
// # Ownership
//
// A State belongs to one goroutine, or to whoever holds the lock around it. Copy
// gives an immutable view in O(tables), to be read by another goroutine while
// the original moves on: tables are copied page by page when they are next
// written to.
//
// # Laws
//
// L1 proof, L2 cleanup, L3 recovery, L4 dedup, L5 exit, L6 fencing, L7 one life,
// L8 nothing lost, L9 intent, L10 no false death, L11 bounded, L12 agreement.
// Check tests those that a single state can show; the tests are named after the
// law that they uphold. ARCHITECTURE.md states them in full.
package fsm
