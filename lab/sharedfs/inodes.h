/* The files that the kernel knows, each by its path below the exported directory. */
#ifndef INODES_H
#define INODES_H

#include <fuse_lowlevel.h>
#include <stdint.h>

/* The path of an inode, relative to the exported directory; valid until the kernel forgets it. */
const char *inode_path(fuse_ino_t inode);

/* The inode of a path, made where there is none; the kernel knows it once more. The path is copied. 0: no memory. */
fuse_ino_t inode_remember(const char *path);

/* The kernel knows an inode so many times less. */
void inode_forget(fuse_ino_t inode, uint64_t times);

#endif
