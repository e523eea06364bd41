// Package evidence gathers what is known of an agent from all tables: its signals, the verdict on
// them, how it is seen from outside, when it last gave a sign of life. It changes nothing, and says
// nothing grave on one signal (law L10); what evidence means is decided in package judge.
package evidence
