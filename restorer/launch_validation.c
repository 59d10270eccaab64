#define _GNU_SOURCE

#include "launch_validation.h"
#include "command.h"
#include "digest.h"
#include "kernel.h"
#include "regular.h"
#include "tables.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

/* SOON: seconds for which an answer counts, as in mpiimport/runtime/store/launch_validation.py. */
enum { MOST_MOUNTS = 1024, MOST_DIGITS = 1 << 14, SOON = 30 };

/* One that nodes share, if `name` is not 0: what is the same on each of them. */
struct mount {
    const char *place;
    word device, name;
};

static struct mount mounts[MOST_MOUNTS];
static word mount_count;
/* A digit, from '@' on, for four files. */
static char digits[MOST_DIGITS + 1];

/* The type of the simulated one of lab/ is the last. All others are a node's own, or may be. */
static int is_shared(const char *type) {
    static const char *const types[] = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "panfs", "wekafs", "fuse.sharedfs"};
    for (word i = 0; i < sizeof types / sizeof *types; i++)
        if (same(type, types[i]))
            return 1;
    return 0;
}

static __attribute__((noinline)) word with_text(word name, const char *text) {
    return mixed(name, digest(text, length(text)));
}

/* The next field of a line, ended by a zero. */
static char *field(char **at) {
    char *begin = *at;
    while (**at && **at != ' ')
        ++*at;
    if (**at)
        *(*at)++ = 0;
    return begin;
}

/* proc(5): \040 stands for a space. */
static void without_escapes(char *text) {
    char *to = text;
    for (; *text; text++)
        if (*text == '\\' && text[1] && text[2] && text[3]) {
            *to++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + text[3] - '0');
            text += 3;
        } else
            *to++ = *text;
    *to = 0;
}

/* proc(5), mountinfo: 36 35 98:0 /root /place options optional - type source. */
static void read_mount(char *line) {
    struct mount *mount = &mounts[mount_count++];
    word major, minor, name;
    field(&line), field(&line);
    const char *rest = number(field(&line), 10, &major);
    number(rest + (*rest == ':'), 10, &minor);
    mount->device = (minor & 0xff) | major << 8 | (minor & ~0xffUL) << 12;
    char *root = field(&line), *place = field(&line);
    while (*line && !same(field(&line), "-"))
        ;
    char *type = field(&line), *source = field(&line);
    without_escapes(place);
    mount->place = place;
    name = with_text(with_text(with_text(with_text(0, root), place), type), source);
    mount->name = is_shared(type) ? name : 0;
}

static void read_mounts(void) {
    static char text[1 << 18];
    long file = kernel4(__NR_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0), got = 1;
    word size = 0;
    for (; file >= 0 && got > 0 && size < sizeof text - 1; size += got > 0 ? (word)got : 0)
        got = kernel3(__NR_read, file, text + size, sizeof text - 1 - size);
    if (file >= 0)
        kernel3(__NR_close, file, 0, 0);
    for (char *line = text, *end; *line; line = end) {
        for (end = line; *end && *end != '\n'; end++)
            ;
        if (*end)
            *end++ = 0;
        if (mount_count < MOST_MOUNTS)
            read_mount(line);
    }
    /* Those that are not known may hide others. */
    if (got || mount_count == MOST_MOUNTS)
        mount_count = 0;
}

/* What follows a place in the path of something in it, or 0. */
static const char *behind(const char *place, const char *path) {
    const char *rest = begins(path, same(place, "/") ? "" : place);
    return rest && *rest == '/' ? rest + 1 : 0;
}

/* The shared file system on which a path lies, as its text says, or 0. */
static const struct mount *shared_mount(const char *path) {
    static const struct mount *seen;
    const struct mount *found = 0;
    struct stat status;
    for (word i = 0; i < mount_count; i++)
        if (behind(mounts[i].place, path) && (!found || length(mounts[i].place) >= length(found->place)))
            found = &mounts[i];
    if (!found || !found->name || found == seen)
        return found && found->name ? found : 0;
    /* A link in it may lead to what is mounted below it here. */
    for (word i = 0; i < mount_count; i++)
        if (behind(found->place, mounts[i].place))
            return 0;
    /* Something else may be mounted over it. */
    if (look_at(found->place, 0, &status) || status.st_dev != found->device)
        return 0;
    return seen = found;
}

/* openat2(2), which Linux has since 5.6. */
static long open_on(const struct mount *mount, const char *path, word flags) {
    struct { word flags, mode, resolve; } how = {O_PATH | O_CLOEXEC | flags, 0, 1 /* RESOLVE_NO_XDEV */};
    long place = kernel4(__NR_openat, AT_FDCWD, mount->place, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (place < 0)
        return -EXDEV;
    long file = kernel4(437 /* __NR_openat2 */, place, behind(mount->place, path), &how, sizeof how);
    kernel3(__NR_close, place, 0, 0);
    return file;
}

long stat_on_shared(const char *path, word flags, struct stat *status) {
    if (!mount_count)
        read_mounts();
    const struct mount *mount = shared_mount(path);
    long file = mount ? open_on(mount, path, flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0) : -EXDEV;
    if (file < 0)
        return file == -ENOTDIR ? -ENOENT : file;
    long failed = kernel3(__NR_fstat, file, status, 0);
    kernel3(__NR_close, file, 0, 0);
    return failed;
}

void remember(word file) {
    word digit = file / 4;
    if (digit < MOST_DIGITS)
        digits[digit] = (char)(digits[digit] | 1 << file % 4);
}

int is_validated(word file) {
    return file / 4 < MOST_DIGITS && digits[file / 4] >> file % 4 & 1;
}

/* Of whom an answer speaks: this image, this program with its arguments, and where the files lie that were validated. It is 0
 * where one of them lies on no shared file system. */
static word name_of_answer(void) {
    word name = image->checksum;
    for (char **each = given; *each; each++)
        name = with_text(name, *each);
    for (word i = 0; i < image->files.count; i++) {
        if (!is_validated(i))
            continue;
        const struct mount *mount = shared_mount(text_at(TABLE(file, files)[i].path));
        if (!mount)
            return 0;
        name = mixed(name, mount->name);
    }
    return name;
}

static word seconds(void) {
    struct timespec now = {0};
    kernel3(__NR_clock_gettime, CLOCK_REALTIME, &now, 0);
    return (word)now.tv_sec;
}

/* WHEN,NAME,DIGITS; the numbers are hexadecimal. */
void write_answer(void) {
    static char head[] = "0000000000000000,0000000000000000,";
    word count = (image->files.count + 3) / 4, name = name_of_answer(), now = seconds();
    count = count < MOST_DIGITS ? count : MOST_DIGITS;
    write_digits(head, now);
    write_digits(head + DIGITS + 1, name);
    for (word i = 0; i < count; i++)
        digits[i] = (char)(digits[i] | '@');
    kernel3(__NR_write, 1, head, sizeof head - 1);
    kernel3(__NR_write, 1, digits, count);
}

void read_answer(void) {
    const char *at = value_of(VALIDATED);
    if (at && *at)
        read_mounts();
    while (at && *at) {
        word began, name, size = 0;
        at = number(at, 16, &began);
        at = number(at + (*at == ','), 16, &name);
        at += *at == ',';
        memset(digits, 0, sizeof digits);
        for (; *at && *at != '/'; at++)
            if (size < MOST_DIGITS)
                digits[size++] = *at;
        at += *at == '/';
        /* Clocks of nodes differ a little. */
        if (name && seconds() + SOON - began <= 2 * SOON && name_of_answer() == name)
            return;
    }
    memset(digits, 0, sizeof digits);
}
