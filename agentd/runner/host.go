package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// account is whom a runner's agents run as.
type account struct {
	name, home string
	uid        uint32
	groups     []uint32
	own        bool                // each agent has another one like it
	credential *syscall.Credential // nil: the daemon already runs as it
}

// SameUser is the Runner.User whose agents share the account of this process: root must be
// named, anybody else may be left out.
func SameUser() string {
	if os.Geteuid() == 0 {
		return "root"
	}
	return ""
}

// ownAccount is like those which agents get that have one of their own: in no group of another.
func ownAccount(probe uint32) *account {
	return &account{name: OwnAccounts, own: true, uid: probe, groups: []uint32{probe},
		credential: &syscall.Credential{Uid: probe, Gid: probe}}
}

func lookUp(name string) (a *account, problem, remedy string) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Sprintf("there is no user %q on this host", name),
			"create the account (useradd --create-home " + name + ") or name another"
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	ids, err3 := u.GroupIds()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Sprintf("user %q cannot be used: %v", name, err), "name another"
	}
	a = &account{name: name, home: u.HomeDir, uid: uint32(uid), groups: []uint32{uint32(gid)}}
	for _, id := range ids {
		if g, err := strconv.ParseUint(id, 10, 32); err == nil && !slices.Contains(a.groups, uint32(g)) {
			a.groups = append(a.groups, uint32(g))
		}
	}
	if os.Geteuid() == int(a.uid) {
		return a, "", ""
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Sprintf("only root may start agents as user %q", name),
			"run agentd as root or as that user, or leave user out"
	}
	a.credential = &syscall.Credential{Uid: a.uid, Gid: uint32(gid), Groups: a.groups}
	return a, "", ""
}

// find looks for a program in SearchPath.
func find(program string) string {
	for _, dir := range filepath.SplitList(SearchPath) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

func checkExecutable(path string, a *account) (problem, remedy string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return path + " does not exist", "install it or correct the path"
	case err != nil:
		return err.Error(), "make it readable for agentd"
	case !info.Mode().IsRegular():
		return path + " is not a file", "name a program"
	case info.Mode().Perm()&0o111 == 0 || !executableBy(info, a):
		return fmt.Sprintf("%s has mode %#o and cannot be executed by %s", path, info.Mode().Perm(),
			a.who()), "chmod +x " + path
	case info.Mode().Perm()&0o002 != 0:
		return fmt.Sprintf("%s has mode %#o: anybody on this host could replace it", path, info.Mode().Perm()),
			"chmod o-w " + path
	}
	return "", ""
}

func (a *account) who() string {
	if a == nil {
		return "agentd's user"
	}
	if a.own {
		return "the accounts of its agents"
	}
	return a.name
}

// executableBy judges by the file's own mode; access lists and folders show at the
// first start.
func executableBy(info os.FileInfo, a *account) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	uid, groups := uint32(os.Geteuid()), []uint32{uint32(os.Getegid())}
	if a != nil {
		uid, groups = a.uid, a.groups
	} else if more, err := os.Getgroups(); err == nil {
		for _, g := range more {
			groups = append(groups, uint32(g))
		}
	}
	mode := info.Mode().Perm()
	switch {
	case uid == 0:
		return mode&0o111 != 0
	case stat.Uid == uid:
		return mode&0o100 != 0
	case slices.Contains(groups, stat.Gid):
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// lacksVigil tells why the agents of a runner would look in vain for the program vigil,
// with the remedy; empty: they find it, or nobody wants to know.
func (r *compiled) lacksVigil(tools string) string {
	if tools == "" {
		return ""
	}
	problem := ""
	for _, dir := range filepath.SplitList(r.variables(Life{}, tools)["PATH"]) {
		path := filepath.Join(dir, "vigil")
		info, err := os.Stat(path)
		switch closed := r.account.shutOut(dir); {
		case err != nil || !info.Mode().IsRegular():
		case closed != "":
			problem = fmt.Sprintf("%s cannot enter %s; chmod o+x it, or install vigil in "+
				"/usr/local/bin", r.account.who(), closed)
		case !executableBy(info, r.account):
			problem = fmt.Sprintf("%s has mode %#o and cannot be executed by %s; chmod +x it", path,
				info.Mode().Perm(), r.account.who())
		default:
			return ""
		}
	}
	return cmp.Or(problem, "it is neither on their PATH nor, under that name, in "+tools+
		", the folder of agentd's own program; install it there")
}

// shutOut gives the first folder on the way to dir that the account cannot enter; empty:
// there is none.
func (a *account) shutOut(dir string) string {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && !executableBy(info, a) {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}

func checkFolder(dir string) (problem, remedy string) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return dir + " does not exist", "create it, or leave directory out"
	case err != nil:
		return err.Error(), "make it readable for agentd"
	case !info.IsDir():
		return dir + " is not a folder", "name a folder"
	}
	return "", ""
}
