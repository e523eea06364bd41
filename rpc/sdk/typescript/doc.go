// Package typescript holds the SDK for TypeScript and JavaScript: sources in src, what is shipped in dist, made of
// them by `make sdk` with the compiler of build/package-lock.json. What is Go here are its tests.
package typescript
