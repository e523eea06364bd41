package life

import "syscall"

// Mortal makes a child that ends when we are killed: its agent's lease would end
// while it went on working.
func Mortal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
