package starter

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// files gives what the folder of a project holds, by path.
func (p *project) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, folder := range []string{"templates/all", "templates/" + p.name} {
		err := fs.WalkDir(templates, folder, func(from string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			to := strings.TrimPrefix(from, folder+"/")
			if to == "runners.d/runner.yaml" {
				to = "runners.d/" + p.Name + ".yaml"
			}
			// Files of Go would be part of this module.
			files[strings.TrimSuffix(to, ".txt")], err = p.fill(from)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if p.sdk == nil {
		return files, nil
	}
	return files, fs.WalkDir(p.sdk(), ".", func(from string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path.Join("vigil", from)], err = fs.ReadFile(p.sdk(), from)
		return err
	})
}

// fill fills a template.
func (p *project) fill(from string) ([]byte, error) {
	text, err := templates.ReadFile(from)
	if err != nil {
		return nil, err
	}
	// A text in quotes is the same in YAML, unless it holds what no path or name of an account does.
	t, err := template.New(path.Base(from)).Funcs(template.FuncMap{"quote": strconv.Quote}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, p)
	return b.Bytes(), err
}

// steps are the lines of the README that say what to do.
func (p *project) steps() string {
	text, _ := p.fill("templates/all/README.md") // it was written just now
	_, list, _ := strings.Cut(string(text), "\n\n")
	return list
}
