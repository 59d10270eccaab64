#include "kept.h"
#include "command.h"
#include "fresh.h"
#include "image.h"
#include "kernel.h"
#include "regular.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The lock gets a number that a program's own files do not reach: the first that it opens is 3, as plainly. */
enum { HIGH = 500, LONGEST = 4096 };

static long lock = -1;

/* flock(2): whoever uses a store holds its lock shared. A file without a name belongs to a store that was removed. */
static void hold(long directory) {
    struct stat status;
    lock = open_regular(directory, "lock", O_RDWR | O_APPEND | O_NOFOLLOW, &status);
    if (lock == -EROFS || lock == -EACCES)
        fresh("its lock cannot be written to", "");
    if (lock < 0 || kernel3(__NR_flock, lock, LOCK_SH | LOCK_NB, 0) || kernel3(__NR_fstat, lock, &status, 0) ||
        !status.st_nlink)
        fresh("it is being removed", "");
    long high = kernel3(__NR_fcntl, lock, F_DUPFD_CLOEXEC, HIGH);
    if (high >= 0) {
        kernel3(__NR_close, lock, 0, 0);
        lock = high;
    }
}

void count_use(void) {
    struct stat status;
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    /* Beyond the limit of files a signal would end this process. */
    kernel4(__NR_prlimit64, 0, RLIMIT_FSIZE, 0, &limit);
    if (lock >= 0 && !kernel3(__NR_fstat, lock, &status, 0) && (word)status.st_size < limit.rlim_cur)
        kernel3(__NR_write, lock, ".", 1);
}

static long directory = -1;
static char path[LONGEST];
static int files[MOST_NAMES];

long open_kept(const char *name, struct stat *status) {
    directory = kernel4(__NR_openat, AT_FDCWD, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0)
        return directory;
    hold(directory);
    return open_cut(directory, "image", "base", status);
}

static word name_count(void) {
    return directory < 0 ? 0 : image->names.count < MOST_NAMES ? image->names.count : MOST_NAMES;
}

static const char *name_of(word number) {
    return text_at(((const word *)((const char *)image + image->names.at))[number]);
}

void open_names(void) {
    struct stat first, found;
    /* What a mapping is called follows from how its file was opened, symbolic links resolved. */
    if (name_count())
        name_descriptor(directory, path, sizeof path);
    kernel3(__NR_fstat, image_file, &first, 0);
    for (word i = 0; i < name_count(); i++) {
        files[i] = (int)open_regular(directory, name_of(i), O_RDONLY | O_NOFOLLOW, &found);
        if (files[i] < 0)
            continue;
        if (!path[0] || found.st_ino != first.st_ino || found.st_dev != first.st_dev) {
            kernel3(__NR_close, files[i], 0, 0);
            files[i] = -1;
        }
    }
}

void close_names(void) {
    for (word i = 0; i < name_count(); i++)
        if (files[i] >= 0)
            kernel3(__NR_close, files[i], 0, 0);
    if (directory >= 0)
        kernel3(__NR_close, directory, 0, 0);
}

long file_of_region(const struct region *region) {
    word number = region->kind == ANONYMOUS ? region->file : 0;
    return number && number <= name_count() && files[number - 1] >= 0 ? files[number - 1] : image_file;
}

const char *directory_of_names(void) {
    return path;
}

const char *open_name(word number) {
    return number < name_count() && files[number] >= 0 ? name_of(number) : 0;
}
