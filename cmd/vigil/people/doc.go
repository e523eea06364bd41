// Package people holds the commands by which people see and steer a fleet: status, rooms, agents,
// tasks, hosts, servers, mail, escalations, settings.
package people
