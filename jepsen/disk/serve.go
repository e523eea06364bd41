//go:build linux

package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// Serve is the main of the program that Open starts: it mounts a disk and obeys
// standard input until that ends. Its arguments are the folder of the store and the
// mount point.
func Serve(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("serve a disk: %d arguments, want the folder of the store and the mount point", len(args))
	}
	syscall.Umask(0) // the kernel has applied that of the caller
	out := json.NewEncoder(os.Stdout)
	d, err := serve(args[0], args[1])
	if err != nil {
		return errors.Join(err, out.Encode(words{Error: err.Error()}))
	}
	if err := out.Encode(words{}); err != nil {
		return errors.Join(err, d.end())
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var a ask
		if err := in.Decode(&a); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil // the driver is done, or gone
			}
			return errors.Join(err, d.end())
		}
		if err := out.Encode(d.obey(&a)); err != nil {
			return errors.Join(err, d.end())
		}
	}
}

// mounted is a disk that is served.
type mounted struct {
	served
	point  string
	server *fuse.Server
}

func serve(folder, point string) (*mounted, error) {
	s, err := newStore(folder)
	if err != nil {
		return nil, fmt.Errorf("make the store: %w", err)
	}
	d := &mounted{served: served{store: s, gate: newGate()}, point: point}
	root := &node{disk: &d.served, open: map[*handle]bool{}}
	// Nothing is cached but data: names and sizes change behind the kernel's back.
	d.server, err = fs.Mount(point, root, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, FsName: folder, Name: "faulty",
		DisableXAttrs: true, DisableReadDirPlus: true, ExplicitDataCacheControl: true,
	}})
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", point, err)
	}
	return d, nil
}

// end takes the mount away. Copies of it in other namespaces answer with errors.
func (d *mounted) end() error {
	d.set(Faults{}) // lets go of what waits
	if err := unix.Unmount(d.point, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", d.point, err)
	}
	return nil
}

func (d *mounted) obey(a *ask) (w words) {
	var err error
	switch {
	case a.Set != nil:
		d.set(*a.Set)
	case a.Lose != nil:
		w.Lost, err = d.lose(*a.Lose)
	case a.Flip != nil:
		err = d.flip(*a.Flip)
	case a.Empty:
		err = d.empty()
	case a.Stats:
		w.Stats = d.stats()
		w.Stats.Refused, w.Stats.Waiting = d.refused.Load(), d.waiting.Load()
	default:
		err = errors.New("nothing was asked")
	}
	if err != nil {
		w.Error = err.Error()
	}
	return w
}
