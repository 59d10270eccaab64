/* A line for each operation, for those who want to know more than counts. */
#ifndef RECORD_H
#define RECORD_H

#include <sys/types.h>

/* Append to this file from now on, where it can be opened; -1 and errno where not. */
int record_to(const char *file);

/* Note an operation: its name, the process that a thread belongs to (0: the kernel's own), the path it is about. */
void record(const char *operation, pid_t thread, const char *path);

#endif
