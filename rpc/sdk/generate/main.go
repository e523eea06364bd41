package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// document is the OpenAPI document, from rpc.
const document = "gen/openapi/vigil.openapi.json"

func main() {
	var err error
	switch {
	case len(os.Args) == 1:
		err = generate(".")
	case len(os.Args) == 3 && os.Args[1] == "seal":
		err = putSeal(os.Args[2])
	default:
		err = errors.New("usage: generate [seal FOLDER]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate writes all files beneath the folder rpc.
func generate(rpc string) error {
	files, err := made(filepath.Join(rpc, document))
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(rpc, "sdk", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// made gives the text of each file by its name beneath rpc/sdk.
func made(document string) (map[string]string, error) {
	a, err := read(document)
	if err != nil {
		return nil, err
	}
	// What of dist is made here needs no compiler when the API changes.
	return map[string]string{
		"typescript/dist/messages.d.ts": typescriptMessages(a),
		"typescript/dist/messages.js":   javascriptMessages(),
		"typescript/dist/calls.d.ts":    declaredCalls(),
		"typescript/dist/calls.js":      javascriptCalls(a),
		"python/vigil/_messages.py":     pythonMessages(a),
		"python/vigil/_calls.py":        pythonCalls(a),
		"python/vigil/_errors.py":       pythonErrors(),
		"typescript/src/messages.ts":    typescriptMessages(a),
		"typescript/src/calls.ts":       typescriptCalls(a),
		"typescript/src/errors.ts":      typescriptErrors(),
	}, nil
}
