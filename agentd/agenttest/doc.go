// Package agenttest is what tests of the packages of agentd share.
package agenttest
