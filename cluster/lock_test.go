package cluster

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/cluster/logstore"
)

func goodConfig(t *testing.T) Config {
	return Config{
		ID: "s1", RaftAddr: "127.0.0.1:7421", DataDir: t.TempDir(),
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	good := goodConfig(t)
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"server id":                 func(c *Config) { c.ID = "a b" },
		"data directory is missing": func(c *Config) { c.DataDir = "" },
		"raft address":              func(c *Config) { c.RaftAddr = "nowhere" },
		"an address that the other": func(c *Config) { c.RaftAddr = "0.0.0.0:7421" },
		"leader lease":              func(c *Config) { c.Timing.LeaderLease = time.Minute },
		"disk deadline":             func(c *Config) { c.Timing.Disk = time.Millisecond },
		"cluster id":                func(c *Config) { c.Cluster = "two words" },
	} {
		c := goodConfig(t)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestDataDirectoryIsLocked(t *testing.T) {
	cfg := goodConfig(t)
	cfg.Listener = listener(t)
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = Open(cfg)
	if !errors.Is(err, logstore.ErrInUse) || !strings.Contains(err.Error(), cfg.DataDir) {
		t.Errorf("second server: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	cfg.Listener = listener(t)
	r, err = Open(cfg)
	if err != nil {
		t.Fatalf("after the first is gone: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestForeignDataIsRefused(t *testing.T) {
	cfg := goodConfig(t)
	cfg.Listener, cfg.Cluster = listener(t), "blue"
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(cfg.DataDir, "raft.db"))
	if err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.Cluster = "green"
	if _, err := Open(other); !errors.Is(err, ErrOtherCluster) || !strings.Contains(err.Error(), "green") {
		t.Errorf("another cluster: %v", err)
	}
	other = cfg
	other.ID, other.RaftAddr = "s2", "127.0.0.2:7421"
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), `belongs to server "s1"`) {
		t.Errorf("another server: %v", err)
	}
	after, err := os.ReadFile(filepath.Join(cfg.DataDir, "raft.db"))
	if err != nil || string(before) != string(after) {
		t.Errorf("the data was touched (%v)", err)
	}
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "cluster"), []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(cfg); !errors.Is(err, logstore.ErrDamaged) {
		t.Errorf("damaged identity: %v", err)
	}
}
