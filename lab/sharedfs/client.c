/* One client of a simulated shared file system: shows a directory, read-only, as if a distant server held it.
 *
 * usage: sharedfs SERVER-FD CLIENT SOURCE MOUNTPOINT ENTRIES ATTRIBUTES ABSENCES CONTENTS MODE [RECORD-FD]
 *
 * SERVER-FD  descriptor of the server's memory (server.h)
 * CLIENT     number of this client's row of counts there
 * ENTRIES, ATTRIBUTES, ABSENCES   seconds for which the client may answer by itself what a name stands for, what a
 *            file's attributes are, and that a name does not exist
 * CONTENTS   1: data, listings and link targets once read stay in the client's memory
 * RECORD-FD  descriptor of a file to which a line for each operation is appended
 *
 * Says "mounted" on stdout once it serves, and ends at SIGTERM or with the thread that started it. */
#include "inodes.h"
#include "record.h"
#include "server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Requests that one client has on their way at most. */
enum { IN_FLIGHT = 64 };

static struct {
    struct server *server;
    unsigned number;
    int source; /* descriptor of the exported directory */
    double entries, attributes, absences;
    int contents;
} client;

static const char *const NAMES[] = {
    [LOOKUPS] = "lookup", [ABSENT] = "absent", [GETATTRS] = "getattr", [OPENS] = "open", [CLOSES] = "close",
    [OPENDIRS] = "opendir", [READDIRS] = "readdir", [READLINKS] = "readlink", [STATFSS] = "statfs", [READS] = "read",
};

static void serve(fuse_req_t request, enum counter operation, const char *path)
{
    record(NAMES[operation], fuse_req_ctx(request)->pid, path);
    if (operation == CLOSES)
        server_metadata_later(client.server, client.number, operation);
    else
        server_metadata(client.server, client.number, operation);
}

static void start(void *data, struct fuse_conn_info *connection)
{
    (void)data;
    connection->want |= connection->capable & FUSE_CAP_PARALLEL_DIROPS;
    if (client.contents)
        connection->want |= connection->capable & FUSE_CAP_CACHE_SYMLINKS;
    /* A listing tells names only: attributes are asked for one by one. */
    connection->want &= ~(unsigned)FUSE_CAP_READDIRPLUS;
    connection->max_background = IN_FLIGHT;
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param entry = {.attr_timeout = client.attributes, .entry_timeout = client.entries};
    char path[PATH_MAX];
    const char *directory = inode_path(parent);
    int length = parent == FUSE_ROOT_ID ? snprintf(path, sizeof path, "%s", name)
                                        : snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length >= PATH_MAX) {
        fuse_reply_err(request, ENAMETOOLONG);
        return;
    }
    int error = fstatat(client.source, path, &entry.attr, AT_SYMLINK_NOFOLLOW) ? errno : 0;
    serve(request, error == ENOENT ? ABSENT : LOOKUPS, path);
    if (error == ENOENT && client.absences > 0) {
        entry.entry_timeout = client.absences;
        fuse_reply_entry(request, &entry);
    } else if (error) {
        fuse_reply_err(request, error);
    } else {
        entry.ino = inode_remember(path);
        if (!entry.ino)
            fuse_reply_err(request, ENOMEM);
        else if (fuse_reply_entry(request, &entry))
            inode_forget(entry.ino, 1);
    }
}

static void forget(fuse_req_t request, fuse_ino_t inode, uint64_t times)
{
    inode_forget(inode, times);
    fuse_reply_none(request);
}

static void get_attributes(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    struct stat status;
    (void)file;
    serve(request, GETATTRS, inode_path(inode));
    if (fstatat(client.source, inode_path(inode), &status, AT_SYMLINK_NOFOLLOW))
        fuse_reply_err(request, errno);
    else
        fuse_reply_attr(request, &status, client.attributes);
}

static void read_link(fuse_req_t request, fuse_ino_t inode)
{
    char target[PATH_MAX + 1];
    serve(request, READLINKS, inode_path(inode));
    ssize_t length = readlinkat(client.source, inode_path(inode), target, PATH_MAX);
    if (length < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    target[length] = '\0';
    fuse_reply_readlink(request, target);
}

static void open_file(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    serve(request, OPENS, inode_path(inode));
    int fd = openat(client.source, inode_path(inode), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        fuse_reply_err(request, errno);
        return;
    }
    file->fh = (uint64_t)fd;
    file->keep_cache = client.contents != 0;
    if (fuse_reply_open(request, file))
        close(fd);
}

static void read_file(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    char *buffer = malloc(size);
    ssize_t length = buffer ? pread((int)file->fh, buffer, size, offset) : -1;
    if (length < 0) {
        fuse_reply_err(request, errno);
    } else {
        record(NAMES[READS], fuse_req_ctx(request)->pid, inode_path(inode));
        server_read(client.server, client.number, (uint64_t)length);
        fuse_reply_buf(request, buffer, (size_t)length);
    }
    free(buffer);
}

static void close_file(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    serve(request, CLOSES, inode_path(inode));
    close((int)file->fh);
    fuse_reply_err(request, 0);
}

static void open_directory(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    serve(request, OPENDIRS, inode_path(inode));
    int fd = openat(client.source, inode_path(inode), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (!directory) {
        fuse_reply_err(request, errno);
        return;
    }
    file->fh = (uint64_t)(uintptr_t)directory;
    file->keep_cache = file->cache_readdir = client.contents != 0;
    if (fuse_reply_open(request, file))
        closedir(directory);
}

static void list(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, struct fuse_file_info *file)
{
    DIR *directory = (DIR *)(uintptr_t)file->fh;
    size_t used = 0;
    serve(request, READDIRS, inode_path(inode));
    char *buffer = malloc(size);
    if (!buffer) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    seekdir(directory, offset);
    for (struct dirent *found; (found = readdir(directory));) {
        struct stat status = {.st_ino = found->d_ino, .st_mode = DTTOIF(found->d_type)};
        size_t needed = fuse_add_direntry(request, buffer + used, size - used, found->d_name, &status,
                                          telldir(directory));
        if (needed > size - used)
            break;
        used += needed;
    }
    fuse_reply_buf(request, buffer, used);
    free(buffer);
}

/* Costs the server nothing: it holds nothing for an open directory. */
static void close_directory(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
    (void)inode;
    closedir((DIR *)(uintptr_t)file->fh);
    fuse_reply_err(request, 0);
}

static void file_system_status(fuse_req_t request, fuse_ino_t inode)
{
    struct statvfs status;
    serve(request, STATFSS, inode_path(inode));
    if (fstatvfs(client.source, &status))
        fuse_reply_err(request, errno);
    else
        fuse_reply_statfs(request, &status);
}

static const struct fuse_lowlevel_ops OPERATIONS = {
    .init = start, .lookup = lookup, .forget = forget, .getattr = get_attributes, .readlink = read_link,
    .open = open_file, .read = read_file, .release = close_file, .opendir = open_directory, .readdir = list,
    .releasedir = close_directory, .statfs = file_system_status,
};

/* Nothing can be written in either mode: "rw" shows the modes of the source, as a user's own directory has them. */
static int run(const char *mountpoint, const char *mode)
{
    char options[128];
    snprintf(options, sizeof options, "%s,allow_other,default_permissions,fsname=sharedfs,subtype=sharedfs", mode);
    char *words[] = {"sharedfs", "-o", options, NULL};
    struct fuse_args arguments = FUSE_ARGS_INIT(3, words);
    struct fuse_session *session = fuse_session_new(&arguments, &OPERATIONS, sizeof OPERATIONS, NULL);
    struct fuse_loop_config *loop = fuse_loop_cfg_create();
    if (!session || !loop || fuse_set_signal_handlers(session) || fuse_session_mount(session, mountpoint))
        return 1;
    fuse_loop_cfg_set_max_threads(loop, IN_FLIGHT);
    fuse_loop_cfg_set_idle_threads(loop, IN_FLIGHT);
    fuse_loop_cfg_set_clone_fd(loop, 1);
    puts("mounted");
    fflush(stdout);
    int status = fuse_session_loop_mt(session, loop);
    fuse_session_unmount(session);
    fuse_session_destroy(session);
    fuse_loop_cfg_destroy(loop);
    /* A signal that ended the loop is how it is meant to end. */
    return status < 0;
}

int main(int count, char **words)
{
    if (count < 10 || count > 11) {
        fprintf(stderr, "usage: sharedfs SERVER-FD CLIENT SOURCE MOUNTPOINT ENTRIES ATTRIBUTES ABSENCES CONTENTS MODE [RECORD-FD]\n");
        return 2;
    }
    client.server = server_map(atoi(words[1]));
    client.number = (unsigned)atoi(words[2]);
    client.source = open(words[3], O_PATH | O_DIRECTORY | O_CLOEXEC);
    client.entries = atof(words[5]);
    client.attributes = atof(words[6]);
    client.absences = atof(words[7]);
    client.contents = atoi(words[8]);
    if (!client.server || client.source < 0) {
        perror("sharedfs");
        return 1;
    }
    if (count > 10)
        record_to(atoi(words[10]), client.number, words[4]);
    /* Waits are as exact as the clock; nobody is left to wait for once the starter is gone. */
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    return run(words[4], words[9]);
}
