// Package code is what servers, clients and agentd have to agree about: the codes of errors and the
// natures of methods, each in one table.
//
// It rests on nothing of vigil but the names of the generated methods, so that whoever may speak to a
// server may import it. Names of codes cross the wire and stand in users' scripts: they are only ever
// added. docs/errors.md is made from the table.
package code
