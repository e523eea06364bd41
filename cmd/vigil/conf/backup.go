//go:build unix

package conf

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/goccy/go-yaml/token"
	"golang.org/x/sys/unix"

	"vigil/cluster/backup"
	"vigil/cmd/vigil/cli"
	"vigil/rpc/door"
)

// serverBackup is the part of a server's configuration about backups; configs/server.yaml explains every key.
type serverBackup struct {
	To         textValue   `yaml:"to"`
	Every      spanValue   `yaml:"every"`
	Keep       countValue  `yaml:"keep"`
	KeepFor    spanValue   `yaml:"keep_for"`
	Recipients []textValue `yaml:"recipients"`

	RecipientsFile  textValue `yaml:"recipients_file"`
	Endpoint        textValue `yaml:"endpoint"`
	Region          textValue `yaml:"region"`
	CredentialsFile textValue `yaml:"credentials_file"`
}

func defaultBackup() serverBackup {
	return serverBackup{Every: spanValue{Span: 6 * time.Hour}, Keep: countValue{n: 14}}
}

// maxRecipients bounds the keys of one backup, and their file in lines of 4 KiB.
const maxRecipients = 20

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	keyLetters  = lowerDigits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ!_.*'()/-"
)

// rightBucket tells whether a bucket can have that name.
func rightBucket(name string) bool {
	return len(name) >= 3 && len(name) <= 63 && strings.Trim(name, lowerDigits+".-") == "" &&
		strings.Trim(name, ".-") == name
}

// Place is where backups are.
type Place struct {
	To                                string // a directory, or s3://bucket/prefix; empty: nowhere
	Endpoint, Region, CredentialsFile string // of S3; empty: the defaults of backup.S3Config
}

// BackupPlace is where this server's backups go.
func (f *Server) BackupPlace() Place {
	b := &f.Backup
	return Place{To: b.To.text, Endpoint: b.Endpoint.text, Region: b.Region.text, CredentialsFile: b.CredentialsFile.text}
}

// BackupTimes are when backups are made and how long they stay; what else a backup.Config needs is left out.
func (f *Server) BackupTimes() backup.Config {
	b := &f.Backup
	return backup.Config{Every: b.Every.Span, Keep: int(b.Keep.n), KeepFor: b.KeepFor.Span}
}

// check tells what is wrong with a place without opening it: the key, and why.
func (p Place) check() (key string, err error) {
	bucket, prefix, isS3 := p.s3()
	switch {
	case !isS3 && !filepath.IsAbs(p.To):
		return "to", fmt.Errorf("%q: give the whole path of a directory, or s3://bucket/prefix", p.To)
	case !isS3 && p.Endpoint+p.Region+p.CredentialsFile != "":
		return "to", errors.New("endpoint, region and credentials_file are for s3://bucket/prefix: take them out")
	case !isS3:
		return "", nil
	case !rightBucket(bucket):
		return "to", fmt.Errorf("%q is no name of a bucket: write s3://bucket/prefix", bucket)
	case len(prefix) > 512 || strings.Trim(prefix, keyLetters) != "" ||
		strings.Contains("/"+prefix+"/", "/../") || strings.Contains(prefix, "//"):
		return "to", fmt.Errorf("prefix %q: write up to 512 of letters, digits, / and !_.*'()-", prefix)
	}
	if p.Endpoint != "" {
		u, err := url.Parse(p.Endpoint)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return "endpoint", errors.New("it is no address: write https://host or https://host:port")
		}
		if u.Scheme == "http" && !door.Loopback(hostPort(u)) {
			return "endpoint", errors.New("it goes over the network without TLS: write https://")
		}
	}
	return "", nil
}

// s3 gives the parts of s3://bucket/prefix.
func (p Place) s3() (bucket, prefix string, ok bool) {
	rest, ok := strings.CutPrefix(p.To, "s3://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	return bucket, strings.Trim(prefix, "/"), ok
}

// Open opens the place; server is whose drafts are made. Data is its data directory: a backup leaves its log the room
// that it needs, and drafts are there where the place is storage elsewhere.
func (p Place) Open(server, data string) (backup.Target, error) {
	if key, err := p.check(); err != nil {
		return nil, fmt.Errorf("backups: %s: %w", key, err)
	}
	bucket, prefix, isS3 := p.s3()
	if !isS3 {
		return backup.Dir{Path: p.To, Server: server, Space: spaceBeside(data)}, nil
	}
	to, err := backup.OpenS3(backup.S3Config{Bucket: bucket, Prefix: prefix, Endpoint: p.Endpoint, Region: p.Region,
		Credentials: p.CredentialsFile, Drafts: data, Free: freeBytes})
	if err != nil {
		return nil, fmt.Errorf("backups: %w", err)
	}
	return to, nil
}

// freeBytes is what the disk that a directory is on has room for.
func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("measure the disk of %s: %w", dir, err)
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

// spaceBeside looks at the disk of a directory, each time anew: what is mounted there may change.
func spaceBeside(data string) func(dir string) (backup.Space, error) {
	return func(dir string) (backup.Space, error) {
		free, err := freeBytes(dir)
		return backup.Space{Free: free, Log: oneDisk(dir, data)}, err
	}
}

// oneDisk tells whether two directories are on one file system.
func oneDisk(a, b string) bool {
	var of, than unix.Stat_t
	return unix.Stat(a, &of) == nil && unix.Stat(b, &than) == nil && of.Dev == than.Dev
}

// BackupsBeside is the directory of the backups where it is on the file system of the data directory; empty: it is
// elsewhere, or there is none.
func (f *Server) BackupsBeside() string {
	p := f.BackupPlace()
	if _, _, isS3 := p.s3(); p.To == "" || isS3 || !oneDisk(p.To, f.DataDir) {
		return ""
	}
	return p.To
}

// checkBackup tells every mistake that the file alone shows.
func (f *Server) checkBackup(file, text string) (all []error) {
	b := &f.Backup
	that := func(right bool, at *token.Token, format string, args ...any) {
		if !right {
			all = append(all, placed(file, text, at, "backup: "+fmt.Sprintf(format, args...)))
		}
	}
	that(b.Every.Span >= backup.MinEvery && b.Every.Span <= backup.MaxEvery, b.Every.at,
		"every %s is out of range: write %s to %s", b.Every.Span, backup.MinEvery, backup.MaxEvery)
	that(b.Keep.n >= 1 && b.Keep.n <= backup.MaxKeep, b.Keep.at, "keep %d is out of range: write 1 to %d", b.Keep.n,
		backup.MaxKeep)
	that(len(b.Recipients) <= maxRecipients, b.To.at, "%d recipients are too many: at most %d are allowed",
		len(b.Recipients), maxRecipients)
	for _, r := range b.Recipients {
		_, err := recipient(r.text)
		that(err == nil, r.at, "%v", err)
	}
	if b.To.text == "" {
		for key, v := range map[string]textValue{"recipients_file": b.RecipientsFile, "endpoint": b.Endpoint,
			"region": b.Region, "credentials_file": b.CredentialsFile} {
			that(v.text == "", v.at, "%s does nothing without to: say where backups go", key)
		}
		return all
	}
	key, err := f.BackupPlace().check()
	at := b.To.at
	if key == "endpoint" {
		at = b.Endpoint.at
	}
	that(err == nil, at, "%s: %v", key, err)
	return all
}

// recipient reads one public key. Its error says nothing of the text: it may be a private one.
func recipient(text string) (age.Recipient, error) {
	list, err := age.ParseRecipients(strings.NewReader(text))
	switch {
	case strings.HasPrefix(strings.ToUpper(strings.TrimSpace(text)), "AGE-SECRET-KEY"):
		return nil, errors.New("a recipient is a private key: keep it away from servers, and write the public one")
	case err != nil || len(list) != 1:
		return nil, errors.New("a recipient is no public key of age: write age1... as age-keygen prints it")
	}
	return list[0], nil
}

// BackupRecipients are the keys for which backups are encrypted; none: they are in clear.
func (f *Server) BackupRecipients() (list []age.Recipient, err error) {
	for _, r := range f.Backup.Recipients {
		one, err := recipient(r.text)
		if err != nil {
			return nil, cli.Usagef("backup: %w", err)
		}
		list = append(list, one)
	}
	name := f.Backup.RecipientsFile.text
	if name == "" {
		return list, nil
	}
	in, err := os.Open(name)
	if err != nil {
		return nil, cli.Usagef("backup: recipients_file: %w", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxRecipients*4096+1))
	if err != nil || len(text) > maxRecipients*4096 {
		return nil, cli.Usagef("backup: recipients_file %s cannot be read, or is too long: %w", name, err)
	}
	n := len(list)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		one, err := recipient(line)
		if err != nil {
			return nil, cli.Usagef("backup: recipients_file %s: %w", name, err)
		}
		list = append(list, one)
	}
	if len(list) == n || len(list) > maxRecipients { // else what is meant to be encrypted goes out in clear
		return nil, cli.Usagef("backup: recipients_file %s has %d keys: write 1 to %d in all, one a line", name,
			len(list)-n, maxRecipients)
	}
	return list, nil
}

// inspectBackup finds what the machine lacks for backups, and says when they are in clear.
func (f *Server) inspectBackup() (wrong []error, notes []string) {
	if f.Backup.To.text == "" {
		return nil, nil
	}
	keys, err := f.BackupRecipients()
	if err != nil {
		wrong = append(wrong, err)
	} else if len(keys) == 0 {
		notes = append(notes, "backup: there are no recipients: texts of tasks, mail and results are stored in clear")
	}
	to, err := f.BackupPlace().Open(f.ID, f.DataDir)
	if err != nil {
		return append(wrong, cli.WrongUsage(err)), notes
	}
	if s3, ok := to.(*backup.S3); ok {
		if err := s3.Check(); err != nil {
			wrong = append(wrong, cli.Usagef("backup: %w", err))
		}
	}
	if dir, ok := to.(backup.Dir); ok {
		if info, err := os.Stat(dir.Path); err != nil || !info.IsDir() {
			wrong = append(wrong,
				cli.Usagef("backup: to: there is no directory %s: create it, or mount what it is on", dir.Path))
		}
	}
	return wrong, notes
}
