package trust

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Dir is a folder with what a program is: certificates may be read by all of its account, keys
// only by it (0600). What is written is on the disk before a name shows it.
type Dir string

// The pairs of files in a Dir: NAME.crt and NAME.key.
const (
	RootFiles = "root" // only where the cluster was founded; the key may be moved away
	// NextRootFiles is the root that is to come, until the cluster has it.
	NextRootFiles = "root-next"
	IssuerFiles   = "issuer" // on servers
	LeafFiles     = "leaf"
)

const rootsFile = "roots.crt"

// PutRoots keeps the roots that are trusted.
func (d Dir) PutRoots(r *Roots) error { return d.write(rootsFile, certPEM(r.Certs), 0o644) }

// Roots reads what PutRoots kept; the error wraps fs.ErrNotExist when there is nothing.
func (d Dir) Roots() (*Roots, error) {
	certs, err := d.certs(rootsFile)
	if err != nil {
		return nil, err
	}
	r, err := NewRoots(certs...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.path(rootsFile), err)
	}
	return r, nil
}

// Put keeps a key and its chain.
func (d Dir) Put(name string, a *Authority) error {
	der, err := x509.MarshalPKCS8PrivateKey(a.Key)
	if err != nil {
		return err
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	// One name for both: a crash between two renames would leave a chain beside another's key.
	if err := d.write(name+".key", append(key, certPEM(a.Chain)...), 0o600); err != nil {
		return err
	}
	return d.write(name+".crt", certPEM(a.Chain), 0o644) // for people and tools; nothing here reads it
}

// LeafEnds tells until when the leaf can be used, or renewed at least. Servers go by its age in cluster time, which
// this machine cannot know: that is reckoned from when it was written, and so may come out too early where cluster
// time stood still. Its own dates do not count: they are those of its issuer, which are over while the key of the root
// is away, and only browsers and tools mind them.
func (d Dir) LeafEnds() (time.Time, error) {
	leaf, err := d.Get(LeafFiles)
	if err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(d.path(LeafFiles + ".key"))
	if err != nil {
		return time.Time{}, err
	}
	uris := leaf.Chain[0].URIs
	if len(uris) != 1 {
		return time.Time{}, fmt.Errorf("%w: the certificate in %s has %d", ErrName, d.path(LeafFiles+".key"), len(uris))
	}
	holder, err := ParseName(uris[0].String())
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime().Add(LifeOf(holder.Kind) + Grace), nil
}

// PromoteRoot has the root that is to come take the place of the present one, whose key is no more.
func (d Dir) PromoteRoot() error {
	err := os.Rename(d.path(NextRootFiles+".key"), d.path(RootFiles+".key"))
	if err != nil {
		return err
	}
	err = os.Rename(d.path(NextRootFiles+".crt"), d.path(RootFiles+".crt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(string(d))
}

// Get reads what Put kept; the error wraps fs.ErrNotExist when there is nothing.
func (d Dir) Get(name string) (*Authority, error) {
	path := d.path(name + ".key")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others: run chmod 600 on it, and think about who did", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s holds no private key: it was damaged; join again with a new token", path)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s holds no ECDSA key: it was damaged; join again with a new token", path)
	}
	chain, err := parsePEM(rest)
	if err != nil || len(chain) == 0 {
		return nil, fmt.Errorf("%s holds no certificate: it was damaged; join again with a new token", path)
	}
	return &Authority{chain, key}, nil
}

// Holder reads the roots and the leaf. The error wraps fs.ErrNotExist when this folder belongs to nobody
// yet. Where only a part is left it does not: whoever finds no identity may go on in clear.
func (d Dir) Holder() (h *Holder, err error) {
	defer func() {
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w: run this as the account that it belongs to, or name another directory", err)
		}
	}()
	roots, err := d.Roots()
	if errors.Is(err, fs.ErrNotExist) {
		if part, e := d.Part(); part != "" || e != nil {
			return nil, errors.Join(d.halved(part, rootsFile), e)
		}
	}
	if err != nil {
		return nil, err
	}
	leaf, err := d.Get(LeafFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.halved(rootsFile, LeafFiles+".key")
	}
	if err != nil {
		return nil, err
	}
	h = NewHolder(roots)
	if err := h.Set(leaf.Chain, leaf.Key); err != nil {
		return nil, fmt.Errorf("%s: %w", d.path(LeafFiles+".key"), err)
	}
	return h, nil
}

// halved says that a part of an identity is missing.
func (d Dir) halved(has, lost string) error {
	return fmt.Errorf("%s has %s and no %s: joining was cut short, or it was lost; put it back, "+
		"or join again with a new token", d, has, lost)
}

// Part names a key that is in this folder, be it all there is of an identity; empty: there is none.
func (d Dir) Part() (string, error) {
	for _, name := range [...]string{RootFiles, NextRootFiles, IssuerFiles, LeafFiles} {
		switch _, err := os.Stat(d.path(name + ".key")); {
		case err == nil:
			return name + ".key", nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "", nil
}

// nextFile has the key for which a certificate is being asked.
const nextFile = "next.key"

// Next gives the key for which the next certificate is to be asked, and keeps it until Took: who repeats
// the question after an answer that was lost has to ask for the same one, or is taken for a clone.
func (d Dir) Next() (*ecdsa.PrivateKey, error) {
	switch text, err := os.ReadFile(d.path(nextFile)); {
	case err == nil:
		if block, _ := pem.Decode(text); block != nil {
			parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
			if key, ok := parsed.(*ecdsa.PrivateKey); ok {
				return key, nil
			}
		} // it was damaged: nothing was asked for it, since it is on the disk first
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, d.write(nextFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600)
}

// Took keeps the leaf for the key of Next, and has it give another one from now on.
func (d Dir) Took(leaf *Authority) error {
	if err := d.Put(LeafFiles, leaf); err != nil {
		return err
	}
	if err := os.Remove(d.path(nextFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Exists tells whether this folder belongs to somebody.
func (d Dir) Exists() (bool, error) {
	_, err := os.Stat(d.path(LeafFiles + ".key"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name) }

func (d Dir) certs(name string) ([]*x509.Certificate, error) {
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		return nil, err
	}
	certs, err := parsePEM(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.path(name), err)
	}
	return certs, nil
}

func parsePEM(text []byte) (out []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return out, nil
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

func certPEM(chain []*x509.Certificate) (out []byte) {
	for _, c := range chain {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// write replaces a file: after a crash there is the old one or the new one, whole.
func (d Dir) write(name string, text []byte, mode fs.FileMode) (err error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(string(d), name+".*.new") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it is of no use
		}
	}()
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), keepOwner(f, string(d)), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), d.path(name))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.path(name), err)
	}
	return syncDir(string(d))
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Age is how long ago the leaf was kept, by this machine's clock; negative when that was set back.
func (d Dir) Age() (time.Duration, error) {
	info, err := os.Stat(d.path(LeafFiles + ".key"))
	if err != nil {
		return 0, err
	}
	return time.Since(info.ModTime()), nil
}
