// Package web is the page: how the fleet is and what it needs, in a browser. Its sources are in src, in
// TypeScript, and what they are built on is pinned in lib; `make web` makes assets of both, which are in the
// tree, so that building vigil needs Go only. The page knows the public API and nothing else.
package web
