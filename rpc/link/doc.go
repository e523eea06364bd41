// Package link keeps gRPC connections to servers that may go silent.
//
// A link can be half open: one side sends, and nothing arrives or comes back, while TCP says
// nothing about it for a quarter of an hour. A Conn knows which calls owe an answer. When one does and
// nothing was heard for a while, it asks for a sign of life (gRPC's health check), and when that
// is not answered either, it ends: its calls fail at once instead of at their deadlines, and go
// elsewhere. Both the public client and servers among each other use it. While nothing is owed,
// it does nothing.
//
// Short calls go over one stream of the connection once there are many (Calls/Carry), which saves most of what
// gRPC does around each. A stream that ends is like a connection that broke: whether its calls were carried out
// is open.
package link
