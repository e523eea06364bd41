//go:build !unix

package trust

import "os"

func keepOwner(*os.File, string) error { return nil } // a folder gives its rights to what is in it
