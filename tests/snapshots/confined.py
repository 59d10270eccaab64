"""Become a command behind one more filter of system calls, which allows all: ``confined.py COMMAND...``, seccomp(2)."""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2
# BPF's "return", and SECCOMP_RET_ALLOW.
ALLOW = struct.pack("HBBI", 6, 0, 0, 0x7FFF0000)


class Program(ctypes.Structure):
    _fields_ = (("size", ctypes.c_ushort), ("at", ctypes.c_void_p))


text = ctypes.create_string_buffer(ALLOW)
program = Program(1, ctypes.addressof(text))
libc = ctypes.CDLL(None)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0) == 0
# Whoever began this without mpiimport wants the command with it.
os.environ.pop("MPIIMPORT", None)
os.execvp(sys.argv[1], sys.argv[1:])
