//go:build linux

package disk

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// served is a store behind a gate.
type served struct {
	*store
	*gate
}

// node is a file or directory as the kernel knows it.
type node struct {
	fs.Inode
	disk *served

	mu   sync.Mutex
	open map[*handle]bool
}

var (
	_ fs.NodeLookuper  = (*node)(nil)
	_ fs.NodeGetattrer = (*node)(nil)
	_ fs.NodeSetattrer = (*node)(nil)
	_ fs.NodeReaddirer = (*node)(nil)
	_ fs.NodeMkdirer   = (*node)(nil)
	_ fs.NodeRmdirer   = (*node)(nil)
	_ fs.NodeUnlinker  = (*node)(nil)
	_ fs.NodeRenamer   = (*node)(nil)
	_ fs.NodeCreater   = (*node)(nil)
	_ fs.NodeOpener    = (*node)(nil)
	_ fs.NodeFsyncer   = (*node)(nil)
	_ fs.NodeStatfser  = (*node)(nil)
)

// name is the path below the root of the disk.
func (n *node) name(parts ...string) string {
	return filepath.Join(append([]string{n.Path(n.Root())}, parts...)...)
}

// thread is who calls; 0: the kernel itself.
func thread(ctx context.Context) uint32 {
	if c, ok := fuse.FromContext(ctx); ok {
		return c.Pid
	}
	return 0
}

// child gives the node of a file that is there.
func (n *node) child(ctx context.Context, st *syscall.Stat_t) (*fs.Inode, *node) {
	ino, gen := n.disk.identity(st)
	in := n.NewInode(ctx, &node{disk: n.disk, open: map[*handle]bool{}},
		fs.StableAttr{Mode: st.Mode, Ino: ino, Gen: gen})
	return in, in.Operations().(*node)
}

func (n *node) look(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(n.disk.path(n.name(name)), &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	out.FromStat(&st)
	in, _ := n.child(ctx, &st)
	return in, 0
}

// Lookup is fs.NodeLookuper.
func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.look(ctx, name, out)
}

// Getattr is fs.NodeGetattrer. The kernel does not say which handle it is about, and a
// file that is open may have no name any more.
func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	n.mu.Lock()
	defer n.mu.Unlock()
	for h := range n.open {
		if err := syscall.Fstat(int(h.file.Fd()), &st); err != nil {
			return fs.ToErrno(err)
		}
		out.FromStat(&st)
		return 0
	}
	if err := syscall.Lstat(n.disk.path(n.name()), &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStat(&st)
	return 0
}

// Setattr is fs.NodeSetattrer: size and mode count, the rest is let pass.
func (n *node) Setattr(ctx context.Context, fh fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if mode, ok := in.GetMode(); ok {
		if err := syscall.Chmod(n.disk.path(n.name()), mode&0o7777); err != nil {
			return fs.ToErrno(err)
		}
	}
	if size, ok := in.GetSize(); ok {
		if errno := n.resize(ctx, int64(size)); errno != 0 {
			return errno
		}
	}
	return n.Getattr(ctx, fh, out)
}

func (n *node) resize(ctx context.Context, size int64) syscall.Errno {
	var now fuse.AttrOut
	if errno := n.Getattr(ctx, nil, &now); errno != 0 {
		return errno
	}
	if size > int64(now.Size) {
		if errno := n.disk.pass(writing, thread(ctx)); errno != 0 {
			return errno
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for h := range n.open {
		return fs.ToErrno(n.disk.resize(h.file, size))
	}
	f, err := os.OpenFile(n.disk.path(n.name()), os.O_RDWR, 0)
	if err != nil {
		return fs.ToErrno(err)
	}
	defer f.Close()
	return fs.ToErrno(n.disk.resize(f, size))
}

// Readdir is fs.NodeReaddirer.
func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	return fs.NewLoopbackDirStream(n.disk.path(n.name()))
}

// Mkdir is fs.NodeMkdirer.
func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if errno := n.disk.pass(writing, thread(ctx)); errno != 0 {
		return nil, errno
	}
	if err := n.disk.mkdir(n.name(name), os.FileMode(mode&0o777)); err != nil {
		return nil, fs.ToErrno(err)
	}
	return n.look(ctx, name, out)
}

// Rmdir is fs.NodeRmdirer.
func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(n.disk.remove(n.name(name), true))
}

// Unlink is fs.NodeUnlinker.
func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(n.disk.remove(n.name(name), false))
}

// Rename is fs.NodeRenamer.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	return fs.ToErrno(n.disk.rename(n.name(name), to.(*node).name(newName)))
}

// Create is fs.NodeCreater.
func (n *node) Create(
	ctx context.Context, name string, _, mode uint32, out *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.disk.pass(writing, thread(ctx)); errno != 0 {
		return nil, nil, 0, errno
	}
	f, err := n.disk.create(n.name(name), os.FileMode(mode&0o777))
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	st, err := inode(f)
	if err != nil {
		_ = f.Close()
		return nil, nil, 0, fs.ToErrno(err)
	}
	out.FromStat(st)
	in, child := n.child(ctx, st)
	return in, child.handle(f), 0, 0
}

// Open is fs.NodeOpener. The kernel drops what it has cached of the file.
func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, err := os.OpenFile(n.disk.path(n.name()), os.O_RDWR, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	if flags&syscall.O_TRUNC != 0 {
		if err := n.disk.resize(f, 0); err != nil {
			_ = f.Close()
			return nil, 0, fs.ToErrno(err)
		}
	}
	return n.handle(f), 0, 0
}

// Fsync is fs.NodeFsyncer, for files and directories.
func (n *node) Fsync(ctx context.Context, fh fs.FileHandle, _ uint32) syscall.Errno {
	if errno := n.disk.pass(syncing, thread(ctx)); errno != 0 {
		return errno
	}
	h, ok := fh.(*handle)
	if !ok {
		return fs.ToErrno(n.disk.sync(nil))
	}
	return fs.ToErrno(n.disk.sync(h.file))
}

// Statfs is fs.NodeStatfser.
func (n *node) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	var st syscall.Statfs_t
	if err := syscall.Statfs(n.disk.root, &st); err != nil {
		return fs.ToErrno(err)
	}
	if f, _ := n.disk.now(); f.Refuse == syscall.ENOSPC {
		st.Bfree, st.Bavail = 0, 0
	}
	out.FromStatfsT(&st)
	return 0
}

// handle is an open file. It does not let the kernel pass by this process.
type handle struct {
	node *node
	file *os.File
}

var (
	_ fs.FileReader   = (*handle)(nil)
	_ fs.FileWriter   = (*handle)(nil)
	_ fs.FileReleaser = (*handle)(nil)
)

func (n *node) handle(f *os.File) *handle {
	h := &handle{node: n, file: f}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open[h] = true
	return h
}

// Read is fs.FileReader.
func (h *handle) Read(ctx context.Context, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if errno := h.node.disk.pass(reading, thread(ctx)); errno != 0 {
		return nil, errno
	}
	n, err := h.file.ReadAt(dest, off)
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return nil, fs.ToErrno(err)
	}
	return fuse.ReadResultData(dest[:n]), 0
}

// Write is fs.FileWriter.
func (h *handle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	if errno := h.node.disk.pass(writing, thread(ctx)); errno != 0 {
		return 0, errno
	}
	n, err := h.node.disk.write(h.file, data, off)
	return uint32(n), fs.ToErrno(err)
}

// Release is fs.FileReleaser.
func (h *handle) Release(context.Context) syscall.Errno {
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	delete(h.node.open, h)
	return fs.ToErrno(h.file.Close())
}
