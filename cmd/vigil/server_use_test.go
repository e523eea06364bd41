package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"vigil/cmd/vigil/cli"
)

func TestServerRefusesWrongUse(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no id", nil, cli.ExitUsage, "no id"},
		{"listens everywhere", []string{"--id", "a", "--addr", ":7420"}, cli.ExitUsage, "advertise_addr"},
		{"no address", []string{"--id", "a", "--addr", "7420"}, cli.ExitUsage, "host:port"},
		{"joins and founds", []string{"--id", "a", "--join", "127.0.0.1:1", "--found"}, cli.ExitUsage,
			"exclude each other"},
		{"log level", []string{"--id", "a", "--log-level", "loud"}, cli.ExitUsage, "log_level"},
		{"no file", []string{"--config", "nowhere.yaml"}, cli.ExitUsage, "nowhere.yaml"},
		{"address in use", []string{"--id", "a", "--addr", busy.Addr().String(), "--found"},
			cli.ExitFailed, "address already in use"},
		{"unknown verb", []string{"lst"}, cli.ExitUsage, "did you mean list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var out, errs bytes.Buffer
			code := run(t.Context(), append([]string{"server", "--insecure"}, tt.args...), strings.NewReader(""), &out, &errs)
			if code != tt.code || !strings.Contains(errs.String(), tt.want) {
				t.Fatalf("exit code %d, said %q; want %d and %q", code, errs.String(), tt.code, tt.want)
			}
		})
	}
}
