// Package typescript holds the SDK for TypeScript and JavaScript: sources in src, what is shipped in dist, made of
// them by `make sdk` with the compiler of build/package-lock.json. What is Go here are its tests.
// The workers of examples/models have a lock file of their own, with the packages that they are about.
package typescript
