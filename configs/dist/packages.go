package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // as well
)

// packages writes the deb and the rpm of a platform.
func (r *release) packages(p platform, program, texts, out string) error {
	work, err := os.MkdirTemp("", "vigil-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	contents, err := r.contents(program, texts, work)
	if err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		if err := r.pack(kind, p, contents, out); err != nil {
			return fmt.Errorf("%s of %s: %w", kind, p, err)
		}
	}
	return nil
}

// pack writes one package.
func (r *release) pack(kind string, p platform, contents files.Contents, out string) (err error) {
	script := func(name string) string { return filepath.Join("files", name) }
	version, metadata, _ := strings.Cut(r.version, "+")
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "vigil", Arch: p.machine, Platform: "linux", Version: version, VersionSchema: "none",
		VersionMetadata: metadata, Release: "1", Section: "admin", Priority: "optional",
		Maintainer: "The vigil project <vigil@localhost>", License: "see the sources", MTime: r.at,
		Description: "keeps fleets of AI agents alive\n" +
			"Three servers replicate the state of a fleet. A daemon on each host starts, watches and stops\n" +
			"agents; each task is given to exactly one of them. This package holds all of it: servers, the\n" +
			"daemon of hosts, and the command by which people and agents speak to them.",
		Overridables: nfpm.Overridables{Contents: contents, Umask: 0o022, Recommends: []string{"tmux"},
			Scripts: nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"),
				PostRemove: script("postrm")},
			RPM: nfpm.RPM{BuildHost: "vigil", Summary: "keeps fleets of AI agents alive", Compression: "gzip:9"},
			Deb: nfpm.Deb{Compression: "gzip"}},
	})
	maker, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(out, maker.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return maker.Package(info, f)
}

// contents are the files of a package. What differs from the checkout is written into work.
func (r *release) contents(program, texts, work string) (all files.Contents, err error) {
	add := func(from, to, kind string, mode os.FileMode) {
		all = append(all, &files.Content{Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.at}})
	}
	add(program, "/usr/bin/vigil", "", 0o755)
	for _, name := range []string{"vigil-server.service", "vigil-agentd.service"} {
		unit, err := os.ReadFile(filepath.Join(r.root, "configs", name))
		if err != nil {
			return nil, err
		}
		// The folder /usr/local is for what no package brings.
		here := bytes.ReplaceAll(unit, []byte("/usr/local/bin/vigil"), []byte("/usr/bin/vigil"))
		if err := os.WriteFile(filepath.Join(work, name), here, 0o644); err != nil {
			return nil, err
		}
		add(filepath.Join(work, name), "/usr/lib/systemd/system/"+name, "", 0o644)
	}
	add("files/vigil.sysusers", "/usr/lib/sysusers.d/vigil.conf", "", 0o644)
	add("files/vigil.tmpfiles", "/usr/lib/tmpfiles.d/vigil.conf", "", 0o644)
	add("files/copyright", "/usr/share/doc/vigil/copyright", "", 0o644)
	for _, name := range []string{"server.yaml", "agentd.yaml"} {
		text, err := os.ReadFile(filepath.Join(r.root, "configs", name))
		if err != nil {
			return nil, err
		}
		// Where the units have their data, so that every command that reads the file finds it.
		for from, to := range map[string]string{"data_dir: vigil-data": "data_dir: /var/lib/vigil-server",
			"data_dir: vigil-agentd": "data_dir: /var/lib/vigil-agentd"} {
			text = bytes.ReplaceAll(text, []byte("\n"+from+"\n"), []byte("\n"+to+"\n"))
		}
		if err := os.WriteFile(filepath.Join(work, name), text, 0o644); err != nil {
			return nil, err
		}
		// A file in /etc would be a conffile: server init and join write into it, so each upgrade with another
		// comment in it would stop dpkg at a question. postinst puts a copy there once.
		add(filepath.Join(work, name), "/usr/share/vigil/"+name, "", 0o644)
	}
	for _, name := range []string{"room.yaml", "overseer.yaml"} {
		add(filepath.Join(r.root, "configs", name), "/usr/share/doc/vigil/examples/"+name, "", 0o644)
	}
	runners, err := namesIn(filepath.Join(r.root, "configs/runners.d"))
	if err != nil {
		return nil, err
	}
	for _, name := range runners {
		add(filepath.Join(r.root, "configs/runners.d", name), "/usr/share/doc/vigil/examples/runners.d/"+name, "", 0o644)
	}
	add(filepath.Join(texts, "bash"), "/usr/share/bash-completion/completions/vigil", "", 0o644)
	add(filepath.Join(texts, "zsh"), "/usr/share/zsh/vendor-completions/_vigil", "", 0o644)
	add(filepath.Join(texts, "fish"), "/usr/share/fish/vendor_completions.d/vigil.fish", "", 0o644)
	return all, r.packed(texts, work, add)
}

// packed adds manuals and changelog, each compressed as distributions want them.
func (r *release) packed(texts, work string, add func(from, to, kind string, mode os.FileMode)) error {
	manuals, err := namesIn(filepath.Join(texts, "man"))
	if err != nil {
		return err
	}
	from := map[string]string{"/usr/share/doc/vigil/changelog.gz": filepath.Join(r.root, "CHANGELOG.md")}
	for _, name := range manuals {
		from["/usr/share/man/man1/"+name+".gz"] = filepath.Join(texts, "man", name)
	}
	for to, source := range from {
		text, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		var small bytes.Buffer
		w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		file := filepath.Join(work, filepath.Base(to))
		if err := os.WriteFile(file, small.Bytes(), 0o644); err != nil {
			return err
		}
		add(file, to, "", 0o644)
	}
	return nil
}
