// Package trust holds the commands about who may speak to the cluster: tokens, people, identities,
// the roots and keys behind them, and logging in.
package trust
