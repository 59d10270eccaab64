#include "record.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    int fd;
    unsigned client;
    const char *mountpoint;
} record_of = {.fd = -1};

void record_to(int fd, unsigned client, const char *mountpoint)
{
    record_of.fd = fd;
    record_of.client = client;
    record_of.mountpoint = mountpoint;
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
    char line[2 * PATH_MAX];
    if (record_of.fd < 0)
        return;
    int length = snprintf(line, sizeof line, "%u %d %s %s/%s\n", record_of.client, thread ? process_of(thread) : 0,
                          operation, record_of.mountpoint, path);
    if (length >= (int)sizeof line)
        length = (int)sizeof line - 1;
    /* One write, so that lines of several clients and threads do not mix. */
    if (write(record_of.fd, line, (size_t)length) != length)
        perror("sharedfs: record");
}
