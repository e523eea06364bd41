//go:build linux

package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vigil/rpc/gen/vigilv1"
)

// pageOnly skips what `make ui` alone runs, and gives the folder of the scripts.
func pageOnly(t *testing.T) (dir string) {
	t.Helper()
	if os.Getenv("VIGIL_UI") == "" {
		t.Skip("takes minutes: `make ui` runs it")
	}
	return npmFolder(t, "chromium")
}

// browse runs a script in a browser until it ends well.
func browse(t *testing.T, dir string, limit time.Duration, script string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{script}, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	out, err := cmd.CombinedOutput()
	if t.Logf("%s", out); err != nil {
		t.Errorf("the browser's run of %s ended with %v", script, err)
	}
}

// page serves the page of a fleet in the name of whoever runs the test, and gives its link.
func (f *testFleet) page(flags ...string) (link string) {
	ui := spawn(f.t, "ui", append([]string{"ui", "--port", "0", "--addr", strings.Join(f.api, ",")}, flags...)...)
	return pageLink.FindString(ui.shows(pageLink))
}

// soup is what an agent may print: titles, links, the clipboard, notices, pictures, questions to the terminal, modes
// of its mouse, 8-bit controls, bells, markup, and words.
const soup = `\033]0;pwned\007\033]1;pwned\007\033]2;pwned\033\\\033k pwned\033\\` +
	`\033]8;;https://example.com/\033\\a link\033]8;;\033\\ \033]52;c;cHduZWQ=\007\033]9;pwned\007` +
	`\033]777;notify;pwned;pwned\007\033]1337;File=inline=1:AAAA\007\033]10;?\007\033]11;?\007\033]4;1;?\007` +
	`\033P$qm\033\\\033P+q544e\033\\\033Pq#0;2;0;0;0#0~~\033\\\033_Gf=100;AAAA\033\\\033^pwned\033\\\033Xpwned\033\\` +
	`\033[c\033[>c\033[6n\033[5n\033[18t\033[21t\033[?1$p\033[?1000h\033[?1003h\033[?1004h\033[?1006h\033[?2004h` +
	`\233c\2336n\220$qm\234\302\233c\302\2350;pwned\302\234\007\007\007\005` +
	`<b>bold</b><script>window.hacked = 1</script><img src=x onerror="window.hacked = 2">\r\n\342\200\256drow\342\200\254 plain words\r\n`

// An agent whose program prints every escape there is: nothing of it leaves the terminal's widget on the page, in its
// screen and in its output; nor does what a host sends in the place of a screen, also while somebody types.
func TestPageScreensHoldTheirEscapesFromNPM(t *testing.T) {
	dir := pageOnly(t)
	c := newTerminalCrew(t, `name: soup
kind: tmux
program: sh
args:
  - -c
  - |
    printf '`+strings.ReplaceAll(soup, "'", `'\''`)+`'
    while vigil wait-for-task --start; do vigil task complete done || exit; done
`, "")
	c.role("soup", func(s *vigilv1.RoleSpec) { s.Runner = "soup" })
	c.joined("soup/a", "")
	browse(t, dir, 3*time.Minute, "escapes.mjs", c.page(), shots(t), "soup/a")
}

// The page takes an hour's worth of events of a large fleet in every view, and holds less than 300 MB.
func TestPageMemoryFromNPM(t *testing.T) {
	dir := pageOnly(t)
	d := newDemo(t, "--every", "2s")
	browse(t, dir, 8*time.Minute, "memory.mjs", d.find(pageLink.String()))
	d.quit()
}

// A browser that has asked nothing for the length of a session is signed out, shows nothing of the fleet, and says
// how to sign in.
func TestPageSignsOutFromNPM(t *testing.T) {
	dir := pageOnly(t)
	c := newTerminalCrew(t, spendRunner, "")
	browse(t, dir, 2*time.Minute, "session.mjs", c.page("--session", "4s"), shots(t), "4")
}

// A budget that has run out is lifted in the inbox, by mouse and by keyboard alone, and in the view of its room, and
// work goes on.
func TestPageLiftsBudgetsFromNPM(t *testing.T) {
	dir := pageOnly(t)
	c := newSpending(t)
	var kept []uint64
	for _, room := range []string{"thrifty", "frugal", "sparing"} {
		c.thrifty(room)
		c.joined(room+"/a", "")
		to, token := c.collector(room + "/a")
		c.uses(to, token, 1100)
		c.await("a budget that has run out", func(e *vigilv1.Event) bool {
			return e.GetKind() == "budget.out" && e.GetRoom() == room
		})
		kept = append(kept, c.task(room, "kept back"))
	}
	browse(t, dir, 3*time.Minute, "lift.mjs", c.page(), shots(t), "thrifty/a", "frugal/a", "sparing/a")
	for _, task := range kept {
		c.completed(task)
	}
}

// The page of a large fleet, of which the API tells what a real one of this machine could not be: lists go on behind
// their first rows, and numbers are those of the fleet and not of what is shown.
func TestPageOfALargeFleetFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	browse(t, dir, 4*time.Minute, "large.mjs", pageAssets(t), shots(t))
}

// What people write on the page goes to whom the link says, as the form shows it.
func TestPageFormsFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	browse(t, dir, 4*time.Minute, "forms.mjs", pageAssets(t), shots(t))
}

// The browser tells each thing that newly waits for a human, also where the counts stay, and where a look has failed.
func TestPageMessagesFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	browse(t, dir, 2*time.Minute, "messages.mjs", pageAssets(t))
}

// What streams into the page is taken though it comes late, events that were left out are read, a restored cluster
// begins another history, output goes on when its stream has ended, and days are those of the reader.
func TestPageFollowsFromNPM(t *testing.T) {
	dir := npmFolder(t, "chromium")
	browse(t, dir, 4*time.Minute, "follow.mjs", pageAssets(t))
}

// pageAssets is the folder of the page as it is served.
func pageAssets(t *testing.T) string {
	t.Helper()
	assets, err := filepath.Abs(filepath.Join("..", "..", "rpc", "web", "assets"))
	if err != nil {
		t.Fatal(err)
	}
	return assets
}
