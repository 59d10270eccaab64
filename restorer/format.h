/* The layout of an image file: a header, tables, and a body of pages. mpiimport/snapshot/image_format.py writes the same.
 * All numbers are 64 bits, in the order of the machine. An offset named `at` counts from the begin of the file. */
#ifndef RESTORER_FORMAT_H
#define RESTORER_FORMAT_H

typedef unsigned long word;

#define MAGIC 0x6d7261772d69706dUL /* "mpi-warm" */
#define VERSION 9UL
#define ABSENT (~0UL)
#define OF_TREE (~1UL) /* the device of what belongs to a container's own tree, which may be another in each container */
#define OF_BOUND (~2UL) /* the device of what lies in an image file that is bound into a container: each may mount it anew */
#define FREE (~1UL)

/* `count` entries, from `at` on. */
struct section {
    word at, count;
};

/* Where the process goes on: what its registers and the kernel's knowledge of its thread were. */
struct thread {
    word code, stack, pointer, tid, robust, robust_size, rseq, rseq_size, rseq_signature, altstack[3];
};

/* As struct prctl_mm_map of linux/prctl.h begins, less what the starter knows. */
struct memory {
    word start_code, end_code, start_data, end_data, start_brk, brk, start_stack;
};

/* What must be as it was: see machine.c. */
struct machine {
    word processor, kernel, vdso_digest, processors, cores; /* cores: 0 where nothing asked for them */
    word filters; /* of system calls; ABSENT where the kernel does not say how many */
    word stack;   /* the limit of it, bytes: the C library gives threads as much */
    word rights;  /* a digest of groups and capabilities */
};

struct header {
    word magic, version, size, checksum; /* the checksum is that of header and tables, itself taken as 0 */
    word tables_end, body_at, file_size;
    word seal; /* the nanoseconds of the time at which the file was changed last, or ABSENT where nobody knows */
    word key;  /* by which python-mpi knows the program: a text, empty where python-mpi has not asked for the image */
    word page; /* bytes of one where it was made */
    struct thread thread;
    struct memory memory;
    struct machine machine;
    struct section files, regions, runs, variables, signals, words, blocks, text;
};

/* What of a path must be as it was: what it leads to, by its stamp; a link itself, by its stamp; that a directory
 * or device is one with the same rights: then `size` is its mode, `mtime` its owner and `ctime` its group; or that a small
 * file, of which each node has one of its own, has the same bytes: then `mtime` is their digest. */
enum how { STAMP, LINK, KIND, CONTENT };
enum { LARGEST_CONTENT = 1 << 16 };

/* A path and how it was. Files that are mapped come first. `vouched`: 1 where the image file has it, and so no start looks at it. */
struct file {
    word path, device, inode, size, mtime, ctime, how, vouched; /* times in nanoseconds */
};

/* WIPED: MADV_WIPEONFORK of madvise(2). It is zero in a forked process, by which libraries see that it is one. */
enum kind { ANONYMOUS, MAPPED, STACK, VDSO, VVAR, WIPED };

/* One mapping. Of a mapped one `file` is a number in the section of files, `offset` one in that file. */
struct region {
    word start, size, protection, kind, file, offset;
};

/* Pages of a region that lie in the body. */
struct run {
    word start, size, at;
};

/* A variable that was read while the image was made. `value` is ABSENT where it was not set, and FREE where it may be
 * anything. PREFIX* is ABSENT: there is no other; or FREE. */
struct variable {
    word name, value;
};

/* As the kernel's struct sigaction. */
struct handler {
    word number, function, flags, restorer, mask;
};

#endif
