//go:build unix

package conf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"vigil/cluster/backup"
)

func TestBackupMistakes(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a relative path", "to: backups", "f.yaml:2:7: backup: to: \"backups\": give the whole path"},
		{"another scheme", "to: gs://x/y", "give the whole path"},
		{"no bucket", "to: s3:///x", "is no name of a bucket"},
		{"a way out of the prefix", "to: s3://vault/a/../b", "prefix"},
		{"too often", "every: 1s", "f.yaml:2:10: backup: every 1s is out of range"},
		{"hardly ever", "every: 1000h", "out of range"},
		{"none is kept", "keep: 0", "f.yaml:2:9: backup: keep 0 is out of range"},
		{"S3 without TLS", "{to: s3://vault, endpoint: 'http://s3.example'}", "without TLS"},
		{"an endpoint of nothing", "{to: s3://vault, endpoint: s3.example}", "it is no address"},
		{"an endpoint of a directory", "{to: /x, endpoint: 'https://s3.example'}", "are for s3://"},
		{"nowhere", "region: eu-1", "does nothing without to"},
		{"no key", "recipients: [ssh-ed25519]", "is no public key of age"},
		{"an unknown key", "too: /x", `unknown key "too"`},
	} {
		if !strings.HasPrefix(tt.text, "{") {
			tt.text = "\n  " + tt.text
		}
		_, err := parseServerFile("f.yaml", "backup: "+tt.text+"\n")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A private key in the place of a public one is refused, and told to nobody.
func TestPrivateKeyIsNoRecipient(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recipient(key.String()); err == nil || strings.Contains(err.Error(), key.String()) ||
		!strings.Contains(err.Error(), "private") {
		t.Errorf("got %v", err)
	}
}

func TestBackupIsReadAndItsLacksAreTold(t *testing.T) {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := parseServerFile("f.yaml", "id: a\ninsecure: true\nbackup: {to: "+dir+", keep: 3, recipients: ["+
		key.Recipient().String()+"], recipients_file: "+file+"}\n")
	if err != nil {
		t.Fatal(err)
	}
	write("# ours\n\n" + key.Recipient().String() + "\n")
	if list, err := f.BackupRecipients(); err != nil || len(list) != 2 {
		t.Errorf("recipients %v, %v", list, err)
	}
	to, err := f.BackupPlace().Open(f.ID, f.DataDir)
	place, _ := to.(backup.Dir)
	if err != nil || place.Path != dir || place.Server != "a" {
		t.Errorf("target %+v, %v", to, err)
	}
	f.DataDir = filepath.Join(dir, "data")
	if err := os.Mkdir(f.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if to, err = f.BackupPlace().Open(f.ID, f.DataDir); err != nil || f.BackupsBeside() != dir {
		t.Errorf("backups are beside the data in %q, %v", f.BackupsBeside(), err)
	}
	if space, err := to.(backup.Dir).Space(dir); err != nil || !space.Log || space.Free == 0 {
		t.Errorf("space %+v, %v", space, err)
	}
	if f.DataDir = "/proc"; f.BackupsBeside() != "" {
		t.Error("another file system is taken for that of the data")
	}
	if wrong, notes := f.inspectBackup(); len(wrong)+len(notes) != 0 {
		t.Errorf("wrong %v, notes %v", wrong, notes)
	}
	write("# nobody\n") // what is to be encrypted must not go out in clear
	if wrong, _ := f.Inspect(); len(wrong) != 1 || !strings.Contains(wrong[0].Error(), "0 keys") {
		t.Errorf("a file without keys: %v", wrong)
	}
	f.Backup = defaultBackup()
	f.Backup.To.text = filepath.Join(dir, "mnt")
	wrong, notes := f.Inspect()
	if len(wrong) != 1 || !strings.Contains(wrong[0].Error(), "mount") ||
		!slices.ContainsFunc(notes, func(s string) bool { return strings.Contains(s, "in clear") }) {
		t.Errorf("no directory: %v, notes %v", wrong, notes)
	}
}
