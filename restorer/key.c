#include "key.h"
#include "command.h"
#include "digest.h"
#include "fresh.h"
#include "kernel.h"
#include "launch_validation.h"
#include "machine.h"
#include "process.h"
#include "regular.h"
#include "tables.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

int open_files[MOST_FILES];

static struct machine this_machine(int with_cores) {
    struct machine here = {0};
    for (word i = 0; i < mapping_count; i++)
        if (mappings[i].kind == VDSO)
            here = machine_here((const void *)mappings[i].start, mappings[i].end - mappings[i].start, with_cores);
    return here;
}

enum { LONGEST = 4096 };

static const char image_name[] = "/image";

/* ENTRY/MACHINE/image. Whether its directory is there. */
static int lead_to(const char *entry, const char *machine) {
    static char path[LONGEST];
    word size = length(entry);
    if (size + 1 + DIGITS + sizeof image_name > sizeof path)
        fresh("its path is too long: ", entry);
    memcpy(path, entry, size);
    path[size] = '/';
    memcpy(path + size + 1, machine, DIGITS);
    path[size + 1 + DIGITS] = 0;
    int is_there = !kernel4(__NR_faccessat, AT_FDCWD, path, 0, 0);
    memcpy(path + size + 1 + DIGITS, image_name, sizeof image_name);
    image_path = path;
    return is_there;
}

/* getdents64(2). Whether one of its variants is there. */
static int lead_to_any(const char *entry) {
    static char names[32768];
    long directory = kernel4(__NR_openat, AT_FDCWD, entry, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long got = directory < 0 ? 0 : kernel3(__NR_getdents64, directory, names, sizeof names);
    int found = 0;
    for (long at = 0; at < got && !found; at += *(unsigned short *)(names + at + 16))
        found = length(names + at + 19) == DIGITS && lead_to(entry, names + at + 19);
    if (directory >= 0)
        kernel3(__NR_close, directory, 0, 0);
    return found;
}

void find_variant(void) {
    const char *entry = image_path;
    struct machine here = this_machine(0);
    char digits[DIGITS];
    write_digits(digits, digest(&here, sizeof here));
    if (!lead_to(entry, digits) && !lead_to_any(entry)) {
        /* It was removed, or is being made. */
        quiet |= !is_verbose();
        fresh("none is there: ", entry);
    }
}

static void compare_machine(void) {
    struct machine here = this_machine(image->machine.cores != 0);
    if (here.processor != image->machine.processor)
        fresh("it was made on another kind of processor", "");
    if (here.kernel != image->machine.kernel)
        fresh("it was made under another kernel", "");
    if (here.vdso_digest != image->machine.vdso_digest)
        fresh("it was made with another vdso", "");
    if (here.processors != image->machine.processors)
        fresh("it was made for another number of processors", "");
    if (here.cores != image->machine.cores)
        fresh("it was made for processors of other cores", "");
    if (here.stack != image->machine.stack)
        fresh("it was made under another limit of the stack", "");
    if (here.rights != image->machine.rights)
        fresh("it was made with other groups or capabilities", "");
    if (here.filters != image->machine.filters || here.filters == ABSENT)
        fresh("system calls are filtered otherwise than where it was made", "");
}

/* Whether a name begins as PREFIX* does. */
static int fits(const char *entry, const char *pattern) {
    while (*pattern && *pattern == *entry)
        pattern++, entry++;
    return *pattern == '*';
}

/* Whether `entry`, NAME=value, is among the variables of the key. */
static int is_listed(const char *entry) {
    for (word i = 0; i < image->variables.count; i++) {
        struct variable each = TABLE(variable, variables)[i];
        const char *rest = begins(entry, text_at(each.name));
        if ((rest && *rest == '=') || (each.value == FREE && fits(entry, text_at(each.name))))
            return 1;
    }
    return 0;
}

/* PREFIX* in the key: no variable has a name that begins so, but for those that the key lists. */
static void compare_prefix(const char *pattern) {
    static char name[64];
    for (char **each = variables; *each; each++) {
        if (!fits(*each, pattern) || is_listed(*each))
            continue;
        for (word i = 0; *pattern == '*' && i < sizeof name - 1 && (*each)[i] != '='; i++)
            name[i] = (*each)[i];
        fresh("it was made without such a variable: ", *name ? name : pattern);
    }
}

static void compare_variables(void) {
    for (word i = 0; i < image->variables.count; i++) {
        struct variable each = TABLE(variable, variables)[i];
        const char *name = text_at(each.name);
        /* The key of python-mpi has PATH, without what `mpiimport run` puts there. */
        if (each.value == FREE || (key && same(name, "PATH")))
            continue;
        if (name[0] && name[length(name) - 1] == '*') {
            compare_prefix(name);
            continue;
        }
        const char *value = value_of(name);
        if ((value != 0) != (each.value != ABSENT) || (value && !same(value, text_at(each.value))))
            fresh("it was made with another value of the variable ", name);
    }
}

/* As is_one_image of mpiimport/runtime/store/dependencies.py: an overlay may show directories and files of the tree as those
 * of two devices, and what is mounted over the tree has others. */
static int is_of_tree(const struct stat *now) {
    static word directories, files;
    struct stat root;
    if (!directories && (!look_at("/.singularity.d", 0, &root) || !look_at("/", 0, &root)))
        directories = root.st_dev;
    if ((now->st_mode & S_IFMT) == S_IFDIR)
        return now->st_dev == directories;
    files = files ? files : now->st_dev;
    return now->st_dev == files;
}

static int has_its_bytes(const struct file *file, long opened) {
    static char bytes[LARGEST_CONTENT + 1];
    word size = 0;
    for (long got = 1; got > 0 && size < sizeof bytes; size += got > 0 ? (word)got : 0)
        got = kernel4(__NR_pread64, opened, bytes + size, sizeof bytes - size, size);
    return size == file->size && digest(bytes, size) == file->mtime;
}

static int is_as_it_was(const struct file *file, const struct stat *now) {
    if (file->how == KIND)
        return now->st_mode == file->size && now->st_uid == file->mtime && now->st_gid == file->ctime;
    int of_tree = file->device == OF_TREE;
    /* Overlays number directories anew at each mount. */
    int is_numbered = !of_tree || (now->st_mode & S_IFMT) != S_IFDIR;
    return (of_tree ? is_of_tree(now) : file->device == OF_BOUND || now->st_dev == file->device) &&
           (!is_numbered || now->st_ino == file->inode) && (word)now->st_size == file->size &&
           (word)now->st_mtim.tv_sec * 1000000000UL + (word)now->st_mtim.tv_nsec == file->mtime &&
           (word)now->st_ctim.tv_sec * 1000000000UL + (word)now->st_ctim.tv_nsec == file->ctime;
}

static int is_mapped(word file) {
    for (word i = 0; i < image->regions.count; i++)
        if (TABLE(region, regions)[i].kind == MAPPED && TABLE(region, regions)[i].file == file)
            return 1;
    return 0;
}

/* How fstatat(2) follows links to it. */
static word flags_of(const struct file *file) {
    return file->how == STAMP ? 0 : AT_SYMLINK_NOFOLLOW;
}

/* What is mapped is opened first and looked at then: the file that was seen is the one that is mapped. For all else an image
 * file may vouch, or the launch has validated it. */
static void compare_files(void) {
    struct stat now;
    word passed = 0;
    read_answer();
    for (word i = 0; i < image->files.count; i++) {
        const struct file *file = &TABLE(file, files)[i];
        const char *path = text_at(file->path);
        int mapped = i < MOST_FILES && is_mapped(i);
        long opened = -1, failed;
        if (i < MOST_FILES)
            open_files[i] = -1;
        if (!mapped && immutable && file->vouched)
            continue;
        if (!mapped && file->how != CONTENT && is_validated(i)) {
            passed++;
            continue;
        }
        if (mapped || file->how == CONTENT)
            failed = (opened = open_regular(AT_FDCWD, path, O_RDONLY, &now)) < 0;
        else
            failed = look_at(path, flags_of(file), &now);
        /* What was looked for and not found has no inode. */
        if (failed ? file->inode != ABSENT : file->how == CONTENT ? !has_its_bytes(file, opened) : !is_as_it_was(file, &now))
            fresh("this has changed since, or cannot be opened: ", path);
        if (mapped)
            open_files[i] = (int)opened;
        else if (opened >= 0)
            kernel3(__NR_close, opened, 0, 0);
    }
    if (passed && !quiet && is_verbose())
        say("mpiimport: `mpiimport run` has validated files of the snapshot that lie on shared file systems\n");
}

void validate_for_job(void) {
    struct stat now;
    for (word i = 0; i < image->files.count; i++) {
        const struct file *file = &TABLE(file, files)[i];
        if (file->how == CONTENT || is_mapped(i))
            continue;
        long failed = stat_on_shared(text_at(file->path), flags_of(file), &now);
        if (failed ? failed == -ENOENT && file->inode == ABSENT : is_as_it_was(file, &now))
            remember(i);
    }
    write_answer();
    kernel3(__NR_exit_group, 0, 0, 0);
}

void close_files(void) {
    for (word i = 0; i < image->files.count && i < MOST_FILES; i++)
        if (open_files[i] >= 0)
            kernel3(__NR_close, open_files[i], 0, 0);
    kernel3(__NR_close, image_file, 0, 0);
}

/* An entry of a library may have come there under another name. */
static void compare_program(void) {
    if (key && !same(key, text_at(image->key)))
        fresh("it was made of another program, for another PATH or name of Python, or in another container", "");
}

void compare_key(void) {
    compare_program();
    compare_machine();
    compare_variables();
    compare_files();
}
