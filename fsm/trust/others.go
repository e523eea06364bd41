package trust

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"vigil/fsm/noun"
)

// Others says what becomes of the people that the backup of another cluster knows. Its certificates are of
// another root, so nobody of it is let in as before, whatever is said.
type Others uint8

// What becomes of them.
const (
	OthersUnsaid  Others = iota // such a backup is refused
	OthersRevoked               // they have no rights
	OthersTrusted               // who is not known here gets the roles that they had, and logs in anew
)

// Backup is the part of a state that is compared.
type Backup interface {
	ClusterUUID() string
	Users() iter.Seq[*noun.User]
	Credentials(after noun.CredentialID) iter.Seq[*noun.Credential]
}

// foreign tells whether a backup has identities of another cluster.
func (v *View) foreign(b Backup) bool {
	return v.ClusterUUID() != "" && b.ClusterUUID() != "" && b.ClusterUUID() != v.ClusterUUID()
}

// maxListed bounds the names in a refusal.
const maxListed = 20

// Accepts is nil when a backup can take the place of this state; its error lists who is concerned.
func (v *View) Accepts(b Backup, others Others) error {
	switch {
	case v.ClusterUUID() == "" && b.ClusterUUID() != "":
		return fmt.Errorf("the backup is of a cluster with identities, and these servers have none: found a cluster " +
			"with `vigil server init`, and restore it there")
	case !v.foreign(b) || others != OthersUnsaid:
		return nil
	}
	var users, hosts, servers []string
	for u := range b.Users() {
		users = append(users, u.Name)
	}
	for k := range b.Credentials(0) {
		switch {
		case k.Gone != 0:
		case k.Kind == noun.HostIdentity:
			hosts = append(hosts, k.Name)
		case k.Kind == noun.ServerIdentity:
			servers = append(servers, k.Name)
		}
	}
	return fmt.Errorf("the backup is of another cluster, %s, whose certificates do not count here. Servers of it: %s. "+
		"Hosts, each of which has to join anew: %s. People: %s. Say --trust to give the people the roles that "+
		"they had there, they log in anew, or --revoke to give them none",
		b.ClusterUUID(), listed(servers), listed(hosts), listed(users))
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	if n := len(names); n > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), n-maxListed)
	}
	return strings.Join(names, ", ")
}

// Newcomers are the users that a backup brings into this cluster: none, unless it is of another one and they
// are trusted. Those whose names are known here stay as they are.
func (v *View) Newcomers(b Backup, others Others) (users []noun.User) {
	if !v.foreign(b) || others != OthersTrusted {
		return nil
	}
	for u := range b.Users() {
		if v.User(u.Name) == nil {
			users = append(users, noun.User{Name: u.Name, Bindings: slices.Clone(u.Bindings)})
		}
	}
	return users
}
