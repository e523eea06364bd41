package noun

import (
	"fmt"
	"strconv"
	"strings"
)

// Sizes of memory in words: as settings have them and as people read them.

const (
	LeastBudget = 16 << 10
	mostBudget  = 1 << 40
)

var sizeUnits = [...]string{"B", "KiB", "MiB", "GiB", "TiB"}

// sizeValue is a size that parseSize reads: a number with the greatest unit that fits.
func sizeValue(n uint64) string {
	unit := 0
	for ; n != 0 && n%1024 == 0 && unit+1 < len(sizeUnits); unit++ {
		n /= 1024
	}
	return strconv.FormatUint(n, 10) + sizeUnits[unit]
}

// parseSize reads a number with a unit; without one it is in bytes.
func parseSize(value string) (uint64, bool) {
	shift := 0
	for i := len(sizeUnits) - 1; i >= 0; i-- {
		if number, ok := strings.CutSuffix(value, sizeUnits[i]); ok {
			value, shift = number, 10*i
			break
		}
	}
	n, err := strconv.ParseUint(value, 10, 64)
	return n << shift, err == nil && n <= mostBudget>>shift
}

// SizeText says a number of bytes for people, with one digit behind the point.
func SizeText(n uint64) string {
	unit, name := uint64(1), sizeUnits[0]
	for _, next := range sizeUnits[1:] {
		if n < unit<<10 {
			break
		}
		unit, name = unit<<10, next
	}
	if tenth := n % unit * 10 / unit; tenth != 0 {
		return fmt.Sprintf("%d.%d %s", n/unit, tenth, name)
	}
	return fmt.Sprintf("%d %s", n/unit, name)
}
