// Package dev is `vigil dev`: servers, hosts and agents with work to do as processes on one machine,
// an agent that plays the work, and chaos on request.
package dev
