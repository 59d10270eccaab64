/* Runs PROGRAM with its arguments as a process that no tracer of this one follows.
 *
 * strace reads the paths that a traced process hands to the kernel. Such a path can lie in a page that a file system's
 * server has to bring first. Where strace has stopped the server as well, each waits for the other. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int is_traced(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    int tracer = 0;
    while (status && fgets(line, sizeof line, status) && sscanf(line, "TracerPid: %d", &tracer) != 1)
        ;
    if (status)
        fclose(status);
    return tracer != 0;
}

int main(int count, char **arguments) {
    long child = count && is_traced() ? syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0) : -1;
    int status = 0;
    if (child > 0) {
        waitpid((pid_t)child, &status, 0);
        if (WIFSIGNALED(status))
            raise(WTERMSIG(status));
        return WEXITSTATUS(status);
    }
    /* It ends with the process that stands for it. */
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    execv(PROGRAM, arguments);
    perror(PROGRAM);
    return 127;
}
