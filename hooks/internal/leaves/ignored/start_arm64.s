#include "textflag.h"

// rt_sigaction(number, 0, old, 8), which is 134; SIG_IGN is 1. fcntl(file, F_GETFD), which is 25, and 1. The kernel starts us with nothing but the stack.
TEXT ·start(SB),NOSPLIT|NOFRAME,$0
	SUB	$48, RSP
	MOVD	$0, R19
	MOVD	$1, R20
next:
	MOVD	R20, R0
	MOVD	$0, R1
	ADD	$8, RSP, R2
	MOVD	$8, R3
	MOVD	$134, R8
	SVC
	CBNZ	R0, done
	MOVD	8(RSP), R4
	CMP	$1, R4
	BNE	done
	SUB	$1, R20, R5
	MOVD	$1, R6
	LSL	R5, R6, R6
	ORR	R6, R19, R19
done:
	ADD	$1, R20
	CMP	$64, R20
	BLE	next
	MOVD	R19, ·inherited(SB)
	ADD	$48, RSP
	MOVD	$0, R19
	MOVD	$0, R20
file:
	MOVD	R20, R0
	MOVD	$1, R1
	MOVD	$25, R8
	SVC
	TBZ	$63, R0, open
	MOVD	$1, R6
	LSL	R20, R6, R6
	ORR	R6, R19, R19
open:
	ADD	$1, R20
	CMP	$3, R20
	BLT	file
	MOVD	R19, ·closed(SB)
	JMP	_rt0_arm64_linux(SB)
