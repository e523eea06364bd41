package vouch

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"

	"vigil/fsm"
	"vigil/fsm/noun"
	"vigil/rpc/base"
	"vigil/rpc/form"
	"vigil/rpc/gen/vigilv1"
	"vigil/rpc/trust"
)

// PutUser adds a user or replaces what one may do.
func (t *Service) PutUser(ctx context.Context, r *vigilv1.PutUserRequest) (*vigilv1.User, error) {
	var c form.Checks
	who := userOf(&c, r.GetUser())
	cmd := fsm.PutUser{Name: who.Name, Bindings: c.Bindings("bindings", r.GetBindings()), By: byWhom(ctx)}
	return change(ctx, t, r, cmd, c.Err, func(st *fsm.View, _ *noun.Outcome) *vigilv1.User {
		if u := st.User(who.Name); u != nil {
			return convertUser(u)
		}
		return &vigilv1.User{User: who.Name} // removed since
	})
}

// ListUsers pages through the users by name.
func (t *Service) ListUsers(
	_ context.Context, r *vigilv1.ListUsersRequest,
) (*vigilv1.ListUsersResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	if c.Err != nil {
		return nil, c.Err
	}
	return base.Read(t.Core, func(st *fsm.View) *vigilv1.ListUsersResponse {
		var all []*noun.User
		for u := range st.Users() {
			if u.Name > r.GetAfter() {
				all = append(all, u)
			}
		}
		slices.SortFunc(all, func(a, b *noun.User) int { return cmp.Compare(a.Name, b.Name) })
		out := &vigilv1.ListUsersResponse{}
		for _, u := range all[:min(len(all), limit)] {
			out.Users = append(out.Users, convertUser(u))
		}
		if len(all) > limit {
			out.More, out.Next = true, all[limit-1].Name
		}
		return out
	}), nil
}

// RemoveUser takes everything from a user.
func (t *Service) RemoveUser(
	ctx context.Context, r *vigilv1.RemoveUserRequest,
) (*vigilv1.RemoveUserResponse, error) {
	var c form.Checks
	who := userOf(&c, r.GetUser())
	return change(ctx, t, r, fsm.RemoveUser{Name: who.Name, By: byWhom(ctx)}, c.Err,
		func(*fsm.View, *noun.Outcome) *vigilv1.RemoveUserResponse { return &vigilv1.RemoveUserResponse{} })
}

// Revoke makes every certificate of a name void.
func (t *Service) Revoke(ctx context.Context, r *vigilv1.RevokeRequest) (*vigilv1.RevokeResponse, error) {
	var c form.Checks
	who := identityOf(&c, "kind", r.GetKind(), "name", r.GetName())
	return change(ctx, t, r, fsm.RaiseGeneration{Kind: who.Kind, Name: who.Name, By: byWhom(ctx)}, c.Err,
		func(_ *fsm.View, out *noun.Outcome) *vigilv1.RevokeResponse {
			return &vigilv1.RevokeResponse{Generation: out.Number()}
		})
}

// ListIdentities pages through the names that have certificates.
func (t *Service) ListIdentities(
	_ context.Context, r *vigilv1.ListIdentitiesRequest,
) (*vigilv1.ListIdentitiesResponse, error) {
	var c form.Checks
	limit := c.Page(r.GetLimit(), form.DefaultPage)
	kind := noun.IdentityKind(0)
	if r.GetKind() != "" {
		kind = identityKind(&c, "kind", r.GetKind())
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return base.Read(t.Core, func(st *fsm.View) *vigilv1.ListIdentitiesResponse {
		out := &vigilv1.ListIdentitiesResponse{}
		for k := range st.Credentials(noun.CredentialID(r.GetAfter())) {
			if kind != 0 && k.Kind != kind || k.Gone != 0 && !r.GetGone() {
				continue
			}
			if len(out.Identities) == limit {
				out.More = true
				break
			}
			out.Identities, out.Next = append(out.Identities, convertIdentity(st, k)), uint64(k.ID)
		}
		if !out.More {
			out.Next = 0
		}
		return out
	}), nil
}

func convertIdentity(st *fsm.View, k *noun.Credential) *vigilv1.Identity {
	out := &vigilv1.Identity{Kind: k.Kind.String(), Name: k.Name, Generation: k.Generation, Serial: k.Serial,
		Token: uint64(k.Token), Gone: k.Gone != 0}
	if h := st.HostByKey(k.Name); k.Kind == noun.HostIdentity && h != nil {
		out.Host = h.Name
	}
	if k.Serial == "" {
		return out
	}
	age, kind := max(0, st.TrustClock().Sub(k.IssuedAt)), trust.Kind(k.Kind.String())
	life := trust.LifeOf(kind)
	out.Age, out.RenewsIn = durationpb.New(age), durationpb.New(max(0, trust.RenewAfter(kind)-age))
	out.Left = durationpb.New(max(0, life-age))
	out.Grace = durationpb.New(min(trust.Grace, max(0, life+trust.Grace-age)))
	out.Until = form.Wall(k.Until)
	return out
}

func convertUser(u *noun.User) *vigilv1.User {
	return &vigilv1.User{User: u.Name, Bindings: form.Bindings(u.Bindings), By: u.By, ChangedAt: form.Wall(u.At)}
}

// identityKind asks for what an identity is of.
func identityKind(c *form.Checks, field, word string) noun.IdentityKind {
	kind, ok := noun.ParseIdentityKind(word)
	if !ok {
		c.Fail("%s is missing or wrong; it is server, host or user.", field)
	}
	return kind
}

// identity asks for a kind and a name.
func identityOf(c *form.Checks, kindField, kind, nameField, name string) noun.Identity {
	who := noun.Identity{Kind: identityKind(c, kindField, kind), Name: name}
	if err := who.Check(); err != nil && c.Err == nil {
		c.Fail("%s: %v.", nameField, err)
	}
	return who
}

// user asks for the name of a user.
func userOf(c *form.Checks, name string) noun.Identity {
	return identityOf(c, "user", noun.UserIdentity.String(), "user", name)
}
