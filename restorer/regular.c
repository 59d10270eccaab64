#include "regular.h"
#include "kernel.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>

long open_regular(long directory, const char *path, word flags, struct stat *status) {
    long file = kernel4(__NR_openat, directory, path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (file < 0)
        return file;
    if (!kernel3(__NR_fstat, file, status, 0) && (status->st_mode & S_IFMT) == S_IFREG)
        return file;
    kernel3(__NR_close, file, 0, 0);
    return -ENOENT;
}

long look_at(const char *path, word flags, struct stat *status) {
    return kernel4(__NR_newfstatat, AT_FDCWD, path, status, flags);
}

/* proc(5). */
void name_descriptor(long descriptor, char *path, word size) {
    static char link[] = "/proc/self/fd/0000000000";
    char *at = link + sizeof "/proc/self/fd";
    word digits = 1;
    for (long rest = descriptor; rest >= 10; rest /= 10)
        digits++;
    at[digits] = 0;
    for (long rest = descriptor; digits; rest /= 10)
        at[--digits] = (char)('0' + rest % 10);
    long got = kernel4(__NR_readlinkat, AT_FDCWD, link, path, size - 1);
    path[got < 0 ? 0 : got] = 0;
}

/* As whose the files of the machine's root show, and which user has the root directory: to be believed, as is our own. */
static unsigned owner_of(const char *path) {
    struct stat status;
    return look_at(path, 0, &status) ? 0 : status.st_uid;
}

/* As _is_open of mpiimport/runtime/store/parents.py. */
static int is_open(const char *directory, unsigned machines_root, unsigned owner_of_all) {
    struct stat status;
    if (look_at(directory, AT_SYMLINK_NOFOLLOW, &status) || (status.st_mode & S_IFMT) != S_IFDIR)
        return 1;
    unsigned own = (unsigned)kernel3(__NR_geteuid, 0, 0, 0), owner = status.st_uid;
    if (owner != own && owner && owner != machines_root && owner != owner_of_all)
        return 1;
    if (!(status.st_mode & (S_IWGRP | S_IWOTH)) || status.st_mode & S_ISVTX)
        return 0;
    if (status.st_mode & S_IWOTH || status.st_gid != owner || machines_root)
        return 1;
    long list = kernel4(__NR_getxattr, directory, "system.posix_acl_access", 0, 0);
    return list != -ENODATA && list != -EOPNOTSUPP;
}

int others_may_rename(char *directory) {
    unsigned machines_root = owner_of("/proc/sys"), owner_of_all = owner_of("/");
    if (directory[0] != '/')
        return 1;
    for (char *at = directory + 1;; at++) {
        char ended = *at;
        if (ended && ended != '/')
            continue;
        *at = 0;
        int found = directory[1] && is_open(directory, machines_root, owner_of_all);
        *at = ended;
        if (found || !ended)
            return found;
    }
}
