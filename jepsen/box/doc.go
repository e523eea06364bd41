// Command box is the first process of a simulated machine: process 1 of its own
// network, process and mount namespaces. It starts, signals and lists processes for
// the driver that started it, over lines of JSON on standard input and output, and
// reaps whatever is left to it.
//
// The machine dies with it: when its standard input ends, or it is killed, the
// kernel kills every process in its namespace and takes its network away. A driver
// that is killed leaves nothing behind.
//
// With the argument disk it is another program: the one that serves a disk that can
// fail (package disk), beside the driver and outside of every machine.
package main
