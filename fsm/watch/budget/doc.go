// Package budget counts what agents have used, as hosts tell it, and keeps roles, rooms and agents within
// their budgets: four fifths of one are a warning, all of it a brake (law L11): nothing new is started or
// claimed, what runs goes on, until so much has left the sliding window or a human lifts the budget. It is a
// brake and no accounting: an agent reports its own use, and what no tool can use is not believed.
package budget
