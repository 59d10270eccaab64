#include "record.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static int log_fd = -1;

void record_to(int fd)
{
    log_fd = fd;
}

/* FUSE names the thread that asks; its process is in proc(5). The thread waits for us, so it is there. */
static pid_t process_of(pid_t thread)
{
    char line[256];
    pid_t process = thread;
    snprintf(line, sizeof line, "/proc/%d/status", thread);
    FILE *status = fopen(line, "re");
    if (!status)
        return thread;
    while (fgets(line, sizeof line, status) && sscanf(line, "Tgid: %d", &process) != 1)
        ;
    fclose(status);
    return process;
}

void record(const char *operation, pid_t thread, const char *path)
{
    char line[PATH_MAX + 64];
    if (log_fd < 0)
        return;
    int length = snprintf(line, sizeof line, "%d %s %s\n", thread ? process_of(thread) : 0, operation, path);
    /* One write, so that lines of several clients and threads do not mix. */
    if (write(log_fd, line, (size_t)length) != length)
        perror("sharedfs: record");
}
