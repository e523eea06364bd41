package mutants

// All lists the mutants in the order of the table in docs/mutants.md.
func All() []Mutant {
	var all []Mutant
	for _, part := range [][]Mutant{timeMutants(), logMutants(), snapshotMutants(), requestMutants(), memberMutants(),
		readMutants(), lifeMutants(), leaseMutants(), orderMutants(), taskMutants(), hostMutants(), identityMutants(),
		voteMutants(), backupMutants(), peopleMutants()} {
		all = append(all, part...)
	}
	return all
}

// tests is a hunt of go test.
func tests(pkg, run string) Hunt { return Hunt{Package: pkg, Run: run} }

// incidents is a hunt of the incident suite, which needs a stand.
func incidents(run string) Hunt {
	return Hunt{Package: "./jepsen/incidents", Run: run, Root: true}
}

// stand is a hunt of command jepsen.
func stand(args ...string) Hunt { return Hunt{Stand: args, Root: true} }
