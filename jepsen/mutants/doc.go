// Package mutants breaks the product on purpose, to see that the suite notices: a
// mutant that survives is a check that is missing.
//
// A Mutant is a few exact edits of source files. They are applied by way of the
// -overlay flag of the go command, so that the product's source holds nothing of
// them, and each names the Hunt that must catch it: tests of a package, or a run of
// command jepsen. A test of this package, which always runs, fails when the text of an
// edit is not in its file any more, exactly once: whoever changes such a line adapts
// the mutant.
//
//	make mutants                                        all, and docs/mutants.md
//	go test -tags mutants ./jepsen/mutants -v -timeout 3h -run 'Mutants/local-read'
//
// Each hunt is also run on the product as it is and has to find nothing then: what
// fails without a mutant catches none.
package mutants
