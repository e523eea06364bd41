//go:build linux

#include "textflag.h"

// func begin() uintptr
TEXT ·begin(SB), NOSPLIT, $0-8
	MOVD $·gettime(SB), R0
	MOVD R0, ret+0(FP)
	RET

// gettime is called as a function of C: the number of a clock in R0, where its reading goes in R1, the stack is
// that of the thread. Zero is the wall clock. R27 is the assembler's own, and the runtime keeps nothing in it.
TEXT ·gettime(SB), NOSPLIT|NOFRAME, $0
	SUB  $32, RSP
	MOVD R30, 0(RSP)
	MOVD R0, 8(RSP)
	MOVD R1, 16(RSP)
	MOVD ·kernels(SB), R2
	BL   (R2)
	MOVD 0(RSP), R30
	MOVD 8(RSP), R0
	MOVD 16(RSP), R1
	ADD  $32, RSP
	CBNZW R0, done
	MOVD ·by(SB), R2
	MOVD (R2), R2
	MOVD $1000000000, R3
	SDIV R3, R2, R4           // seconds
	MSUB R3, R2, R4, R5       // the rest, with the sign of the offset
	MOVD 0(R1), R6
	MOVD 8(R1), R7
	ADD  R4, R6, R6
	ADDS R5, R7, R7
	BPL  positive
	ADD  R3, R7, R7
	SUB  $1, R6, R6
positive:
	CMP  R3, R7
	BLT  whole
	SUB  R3, R7, R7
	ADD  $1, R6, R6
whole:
	MOVD R6, 0(R1)
	MOVD R7, 8(R1)
done:
	MOVD $0, R0
	RET
