// Package join is how a server, a host or a person becomes somebody in a cluster: by a token that
// names the cluster's addresses, the pin of its root, and a secret.
package join
