// Package accounts gives agents accounts (uids and gids) of their own, none of them ever to two.
package accounts
