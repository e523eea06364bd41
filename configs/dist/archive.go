package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"debug/buildinfo"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func machineHere() string { return runtime.GOARCH }

// member is one file of an archive.
type member struct {
	name, from string
	mode       int64
}

// members are what an archive holds: the program, how shells complete it, its manuals, the
// configuration with everything explained.
func (r *release) members(p platform, program, texts string) ([]member, error) {
	all := []member{{p.program(), program, 0o755}, {"README.md", filepath.Join(r.root, "README.md"), 0o644},
		{"CHANGELOG.md", filepath.Join(r.root, "CHANGELOG.md"), 0o644}}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		all = append(all, member{"completions/vigil." + shell, filepath.Join(texts, shell), 0o644})
	}
	folders := map[string]string{"man": filepath.Join(texts, "man")}
	if !p.client() {
		for _, name := range []string{"server.yaml", "agentd.yaml", "room.yaml", "overseer.yaml",
			"vigil-server.service", "vigil-agentd.service"} {
			all = append(all, member{"configs/" + name, filepath.Join(r.root, "configs", name), 0o644})
		}
		folders["configs/runners.d"] = filepath.Join(r.root, "configs/runners.d")
	}
	for to, from := range folders {
		names, err := namesIn(from)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			all = append(all, member{to + "/" + name, filepath.Join(from, name), 0o644})
		}
	}
	slices.SortFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// archive writes the .tar.gz of a platform, or the .zip for Windows.
func (r *release) archive(p platform, program, texts, out string) error {
	all, err := r.members(p, program, texts)
	if err != nil {
		return err
	}
	folder := "vigil-" + r.version + "-" + p.system + "-" + p.machine
	if p.system == "windows" {
		return r.zip(filepath.Join(out, folder+".zip"), folder, all)
	}
	return r.tar(filepath.Join(out, folder+".tar.gz"), folder, all)
}

func (r *release) tar(path, folder string, all []member) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	defer func() { err = errors.Join(err, w.Close(), packed.Close(), f.Close()) }()
	for _, m := range all {
		text, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: folder + "/" + m.name, Mode: m.mode, Size: int64(len(text)),
			ModTime: r.at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) zip(path, folder string, all []member) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := zip.NewWriter(f)
	defer func() { err = errors.Join(err, w.Close(), f.Close()) }()
	for _, m := range all {
		from, err := os.Open(m.from)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: folder + "/" + m.name, Method: zip.Deflate, Modified: r.at}
		header.SetMode(os.FileMode(m.mode))
		to, err := w.CreateHeader(header)
		if err == nil {
			_, err = io.Copy(to, from)
		}
		if err = errors.Join(err, from.Close()); err != nil {
			return err
		}
	}
	return nil
}

// parts writes the list of the modules that a program holds, as CycloneDX: read out of the program
// itself, so it is what was linked and not what could have been.
func (r *release) parts(p platform, program, out string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z07:00"), Component: &cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: "vigil", Name: "vigil", Version: r.version}}
	parts := []cdx.Component{{Type: cdx.ComponentTypePlatform, BOMRef: "go", Name: "go",
		Version:    strings.TrimPrefix(info.GoVersion, "go"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		parts = append(parts, componentOf(m))
	}
	bom.Components = &parts
	f, err := os.Create(filepath.Join(out, "vigil-"+r.version+"-"+p.system+"-"+p.machine+".cdx.json"))
	if err != nil {
		return err
	}
	return errors.Join(cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom), f.Close())
}

func componentOf(m *debug.Module) cdx.Component {
	if m.Replace != nil {
		m = m.Replace
	}
	link := "pkg:golang/" + m.Path + "@" + m.Version
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: link, Name: m.Path, Version: m.Version,
		PackageURL: link}
}
