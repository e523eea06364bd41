//go:build !stand

package conf

// onlyLoopback keeps servers and hosts without an identity on the loopback interface. The machines of
// the fault stand are network namespaces, and what it tests is built without the rule: -tags stand.
const onlyLoopback = true
