// Package tasks is `vigil task` as people use it: create tasks, follow them, change one of them or all that
// flags choose. The words of agents about tasks come from package agent.
package tasks
