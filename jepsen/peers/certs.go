package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// keyFiles are the certificates of a stand: one root that all trust, one certificate for the servers,
// which they also show each other, and one for the clients, which each server demands. Keys are P-256,
// as those of vigil are.
type keyFiles struct {
	Root, Cert, Key string // of servers: files
}

// certLife is longer than any measurement lasts.
const certLife = 24 * time.Hour

// makeKeys writes the files of the servers into dir and gives the clients' side of TLS.
func makeKeys(dir string) (*keyFiles, *tls.Config, error) {
	root, err := newIdentity("peers root", nil)
	if err != nil {
		return nil, nil, err
	}
	server, err := newIdentity("peers server", root)
	if err != nil {
		return nil, nil, err
	}
	people, err := newIdentity("peers client", root)
	if err != nil {
		return nil, nil, err
	}
	files := &keyFiles{Root: filepath.Join(dir, "root.pem"), Cert: filepath.Join(dir, "server.pem"),
		Key: filepath.Join(dir, "server.key")}
	key, err := x509.MarshalPKCS8PrivateKey(server.key)
	if err != nil {
		return nil, nil, fmt.Errorf("encode key: %w", err)
	}
	for _, f := range []struct {
		name, kind string
		der        []byte
	}{{files.Root, "CERTIFICATE", root.cert.Raw}, {files.Cert, "CERTIFICATE", server.cert.Raw},
		{files.Key, "PRIVATE KEY", key}} {
		text := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := os.WriteFile(f.name, text, 0o600); err != nil {
			return nil, nil, fmt.Errorf("write certificates: %w", err)
		}
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(root.cert)
	return files, &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{people.cert.Raw}, PrivateKey: people.key}}}, nil
}

// identity is a certificate and its key.
type identity struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newIdentity makes a key and has it certified; without an issuer it is a root.
func newIdentity(name string, issuer *identity) (*identity, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make key of %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make number of %s: %w", name, err)
	}
	t := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(certLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true}
	by, with := t, key
	if issuer == nil {
		t.IsCA, t.KeyUsage, t.ExtKeyUsage = true, x509.KeyUsageCertSign, nil
	} else {
		by, with = issuer.cert, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, by, key.Public(), with)
	if err != nil {
		return nil, fmt.Errorf("certify %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read certificate of %s: %w", name, err)
	}
	return &identity{cert, key}, nil
}
