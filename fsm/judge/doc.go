// Package judge says what evidence means: the verdict on an agent from all its signals, and what the
// mechanical rule makes of an overseer's patrols. Its functions are pure and read nothing but the
// plain structs that they are given, so a table of cases is their whole test.
//
// Law L10 stands here: no verdict says on one signal that an agent may be dead.
package judge
