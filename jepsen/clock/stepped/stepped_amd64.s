//go:build linux

#include "textflag.h"

// func begin() uintptr
TEXT ·begin(SB), NOSPLIT, $0-8
	LEAQ ·gettime(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// gettime is called as a function of C: the number of a clock in DI, where its reading goes in SI, the stack is
// that of the thread. Zero is the wall clock.
TEXT ·gettime(SB), NOSPLIT|NOFRAME, $0
	SUBQ $24, SP              // a multiple of 16 together with the return address
	MOVQ DI, 0(SP)
	MOVQ SI, 8(SP)
	MOVQ ·kernels(SB), AX
	CALL AX
	MOVQ 0(SP), DI
	MOVQ 8(SP), SI
	ADDQ $24, SP
	TESTL DI, DI
	JNE  done
	MOVQ ·by(SB), AX
	MOVQ (AX), AX
	MOVQ $1000000000, CX
	CQO
	IDIVQ CX                  // seconds in AX, the rest in DX with the sign of the offset
	ADDQ AX, 0(SI)
	ADDQ 8(SI), DX
	JPL  positive
	ADDQ CX, DX
	DECQ 0(SI)
positive:
	CMPQ DX, CX
	JLT  whole
	SUBQ CX, DX
	INCQ 0(SI)
whole:
	MOVQ DX, 8(SI)
done:
	XORL AX, AX
	RET
