// Package people holds the commands by which people see and steer a fleet: status, rooms, agents,
// tasks, hosts, mail, escalations. Those about servers are in package servers, those about who may
// speak to the cluster in package trust.
package people
