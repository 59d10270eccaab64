/* A line for each operation, for those who want to know more than counts. */
#ifndef RECORD_H
#define RECORD_H

#include <sys/types.h>

/* Write to this descriptor from now on; it was opened for appending. */
void record_to(int fd);

/* Note an operation: its name, the process that a thread belongs to (0: the kernel's own), the path it is about. */
void record(const char *operation, pid_t thread, const char *path);

#endif
