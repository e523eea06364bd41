// Package sdk holds the SDKs for Python and TypeScript as the program carries them: `vigil new` puts them beside
// the workers that it writes, so that nothing has to be installed.
package sdk
