//go:build linux

package stepped

import (
	"syscall"
	"unsafe"
)

// variable names the file with the offset; package clock repeats it.
const variable = "JEPSEN_CLOCK"

// vdso is the function of the kernel that the runtime calls for every reading of a clock, zero where it has none and
// makes a system call. The runtime promises not to move the variable (golang/go#67401).
//
//go:linkname vdso runtime.vdsoClockgettimeSym
var vdso uintptr

// What the function that takes its place reads. They are set before it does, and never again.
var (
	kernels uintptr // the function of the kernel
	by      *int64  // the offset in nanoseconds, in memory that is shared with whoever steps the clock
)

// begin gives the address of the function that takes its place, which adds the offset to the wall clock.
func begin() uintptr

func init() {
	switch by, kernels = mapped(), vdso; {
	case by == nil:
	case kernels == 0:
		panic("jepsen/clock: this kernel offers no clock that is read without a system call, so none can be stepped")
	default:
		vdso = begin()
	}
}

// mapped maps the file with the offset; nil: there is none.
func mapped() *int64 {
	name, _ := syscall.Getenv(variable)
	if name == "" {
		name = parents()
	}
	if name == "" {
		return nil
	}
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Size < 8 {
		return nil
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return (*int64)(unsafe.Pointer(unsafe.SliceData(page)))
}

// parents looks for the variable in the environment of the parent process.
func parents() string {
	number, digits := syscall.Getppid(), ""
	for ; number > 0; number /= 10 {
		digits = string(rune('0'+number%10)) + digits
	}
	fd, err := syscall.Open("/proc/"+digits+"/environ", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer syscall.Close(fd)
	var text []byte
	for buf := make([]byte, 4096); ; {
		n, err := syscall.Read(fd, buf)
		if n <= 0 || err != nil {
			break
		}
		text = append(text, buf[:n]...)
	}
	for start, i := 0, 0; i < len(text); i++ {
		if text[i] != 0 {
			continue
		}
		line := string(text[start:i])
		start = i + 1
		if len(line) > len(variable) && line[:len(variable)+1] == variable+"=" {
			return line[len(variable)+1:]
		}
	}
	return ""
}
