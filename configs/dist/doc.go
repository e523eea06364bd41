// Command dist makes what vigil is installed from: archives, packages, sums and the list of parts.
package main
