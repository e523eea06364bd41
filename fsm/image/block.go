package image

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// readBlock reads one length-prefixed block. What the length promises is not
// believed before it has arrived.
func readBlock(r io.Reader, limit uint64, buf []byte) ([]byte, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > limit {
		return nil, fmt.Errorf("block of %d bytes", n)
	}
	buf = buf[:0]
	for uint64(len(buf)) < n {
		from := len(buf)
		buf = slices.Grow(buf, int(min(n-uint64(from), 256<<10)))
		buf = buf[:min(uint64(cap(buf)), n)]
		if _, err := io.ReadFull(r, buf[from:]); err != nil {
			return buf, err
		}
	}
	return buf, nil
}
