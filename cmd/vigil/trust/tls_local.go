package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"vigil/cmd/vigil/cli"
	"vigil/cmd/vigil/term"
	"vigil/rpc/trust"
)

// localTLS is what a data directory has of certificates. Names of fields are those of --json. Clocks are
// cluster time since the cluster began, in seconds: only the cluster knows how late it is on that clock.
type localTLS struct {
	Dir        string     `json:"dir"`
	Cluster    string     `json:"cluster"`
	Kind       string     `json:"kind"`
	Name       string     `json:"name"`
	Generation uint64     `json:"generation"`
	Serial     string     `json:"serial"`
	Issued     float64    `json:"issued"`
	Renews     float64    `json:"renews"`
	Ends       float64    `json:"ends"`
	From       *time.Time `json:"from"`
	Until      *time.Time `json:"until"`
	Roots      []tlsCert  `json:"roots"`
	Issuer     *tlsCert   `json:"issuer,omitempty"` // the key with which a server signs
	RootKey    bool       `json:"root_key"`         // the key of the root is here
}

// showLocalTLS prints what a data directory holds. No key is read beyond finding out what it is for.
func showLocalTLS(a *cli.App, data string) error {
	r, err := readLocalTLS(data)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	return r.print(a)
}

func readLocalTLS(data string) (*localTLS, error) {
	dir := trust.Dir(filepath.Join(data, "trust"))
	holder, err := dir.Holder()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, cli.Usagef("flag --data-dir: %s has no identity: it is served in clear, or another directory", data)
	case err != nil:
		return nil, fmt.Errorf("read identity: %w", err)
	}
	leaf, err := dir.Get(trust.LeafFiles)
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	self, _ := holder.Self()
	issued := time.Duration(self.Clock)
	r := &localTLS{Dir: string(dir), Cluster: self.Cluster, Kind: string(self.Kind), Name: self.ID,
		Generation: self.Generation, Serial: self.Serial, Issued: issued.Seconds(),
		Renews: (issued + trust.RenewAfter(self.Kind)).Seconds(), Ends: (issued + trust.LifeOf(self.Kind)).Seconds(),
		From: date(leaf.Chain[0].NotBefore), Until: date(leaf.Chain[0].NotAfter)}
	for _, root := range holder.Roots().Certs {
		cert := certOf(root)
		cert.Pin = trust.Pin(root)
		r.Roots = append(r.Roots, cert)
	}
	issuer, err := authority(dir, trust.IssuerFiles)
	if err == nil && issuer != nil {
		cert := certOf(issuer)
		r.Issuer = &cert
	}
	root, err2 := authority(dir, trust.RootFiles)
	r.RootKey = root != nil
	return r, errors.Join(err, err2)
}

// authority is the certificate of a key that signs; nil: it is not here.
func authority(dir trust.Dir, name string) (*x509.Certificate, error) {
	a, err := dir.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read identity: %w", err)
	}
	return a.Chain[0], nil
}

func (r *localTLS) print(a *cli.App) error {
	var rows [][2]string
	add := func(what, format string, args ...any) {
		rows = append(rows, [2]string{what, fmt.Sprintf(format, args...)})
	}
	clock := func(s float64) string { return term.Short(time.Duration(s * float64(time.Second))) }
	add("cluster", "%s", r.Cluster)
	add("who", "%s/%s", r.Kind, r.Name)
	add("generation", "%d", r.Generation)
	add("serial", "%s", r.Serial)
	add("issued", "at %s of cluster time", clock(r.Issued))
	add("renewed", "at %s of cluster time, by itself", clock(r.Renews))
	add("ends", "at %s of cluster time; then it can only be renewed", clock(r.Ends))
	add("dates", "%s to %s, for browsers and tools", day(r.From), day(r.Until))
	for _, root := range r.Roots {
		add("root", "%s, %s to %s", short(root.Pin), day(root.From), day(root.Until))
	}
	if i := r.Issuer; i != nil {
		add("issuer", "%s, %s to %s", short(i.Serial), day(i.From), day(i.Until))
	} else if r.Kind == string(trust.Server) {
		add("issuer", "none yet: it comes from the server that has the key of the root")
	}
	if r.RootKey {
		add("root.key", "is here: keep a copy elsewhere")
	}
	for _, row := range rows {
		if err := a.Printf("%-11s %s\n", row[0], term.OneLine(row[1])); err != nil {
			return err
		}
	}
	return nil
}
