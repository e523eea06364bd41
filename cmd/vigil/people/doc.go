// Package people holds the commands by which people see and steer a fleet. Here are those about the whole
// of it: status, pause, brake, escalations, contexts. What is about one noun has a room of its own below:
// agents and their terminals, tasks, mail, rooms, hosts. Those about servers are in package servers, those
// about who may speak to the cluster in package trust.
package people
