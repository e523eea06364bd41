// Package doctor looks at a cluster and at the machine that it runs on, before and after anything is
// done to them, and names a remedy for each thing that is wrong: `vigil doctor`. It changes nothing.
//
// What is measured (Machine, Cluster) and what that means (the functions that judge) are apart, so
// that tests can break one thing after the other.
package doctor
