/* A line for each operation, for those who want to know more than counts. */
#ifndef RECORD_H
#define RECORD_H

#include <sys/types.h>

/* Write to this descriptor, opened for appending, what a client does that is mounted there. The words are kept. */
void record_to(int fd, unsigned client, const char *mountpoint);

/* Note an operation: its name, the process that a thread belongs to (0: the kernel's own), the path below the
 * mountpoint. The line is: client, process, operation, path. */
void record(const char *operation, pid_t thread, const char *path);

#endif
