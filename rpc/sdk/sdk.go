package sdk

import (
	"embed"
	"io/fs"
)

//go:embed python/vigil/*.py python/vigil/py.typed typescript/package.json typescript/dist
var files embed.FS

// Python is the package vigil: its folder holds the files of which `import vigil` is made.
func Python() fs.FS { return beneath("python/vigil") }

// TypeScript is the package vigil as npm unpacks it, for a folder node_modules/vigil.
func TypeScript() fs.FS { return beneath("typescript") }

func beneath(folder string) fs.FS {
	sub, err := fs.Sub(files, folder)
	if err != nil { // the folder is named above
		panic(err)
	}
	return sub
}
