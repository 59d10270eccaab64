#include "image.h"
#include "command.h"
#include "digest.h"
#include "fresh.h"
#include "kernel.h"
#include "process.h"
#include "regular.h"
#include "sent.h"
#include "tables.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { LARGEST_TABLES = 1 << 28, LONGEST = 4096 };

static void damaged(const char *what) {
    fresh("it is damaged: ", what);
}

static struct stat status;
static const char *opened;
static int is_sent;

/* A file of the library, or what was sent of it. */
static long open_one(const char *path) {
    long file = key ? open_sent(path, &status) : -ENOENT;
    is_sent = file >= 0;
    opened = path;
    return is_sent ? file : open_regular(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, &status);
}

/* FILE, or FILE.base where that is meant and there. */
static long open_file(void) {
    static char base[LONGEST];
    word size = length(image_path);
    if (size + sizeof ".base" <= sizeof base) {
        memcpy(base, image_path, size);
        memcpy(base + size, ".base", sizeof ".base");
    }
    if (!wants_base && !kernel3(__NR_faccessat, AT_FDCWD, base, 0))
        turn_to_base();
    long file = wants_base ? open_one(base) : -ENOENT;
    return file == -ENOENT ? open_one(image_path) : file;
}

/* Whoever can write an image decides what this process executes. */
static void open_own_file(void) {
    image_file = open_file();
    if (image_file < 0)
        fresh("it is a link, no file, or cannot be opened: ", opened);
    if (status.st_uid != (word)kernel3(__NR_geteuid, 0, 0, 0))
        fresh("it belongs to another user: ", opened);
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        fresh("others can write to it: ", opened);
    if (is_sent && !quiet && is_verbose())
        say("mpiimport: the snapshot is read from the memory of this node, where `mpiimport run` has sent it\n");
}

/* Header and tables are read, not mapped: a file that shrinks meanwhile must not end the process. */
static void read_tables(void) {
    struct header first;
    word file_size = (word)status.st_size;
    if (kernel4(__NR_pread64, image_file, &first, sizeof first, 0) != sizeof first)
        damaged("it is shorter than its header");
    if (first.magic != MAGIC || first.version != VERSION || first.size != sizeof first)
        fresh("it is of another version, or no image: ", opened);
    if (first.page != page)
        fresh("it was made with pages of another size", "");
    if (first.file_size != file_size || first.tables_end > LARGEST_TABLES || first.tables_end < sizeof first ||
        first.body_at < first.tables_end || first.body_at > file_size || first.body_at & (page - 1))
        damaged("its sizes do not fit");
    if (!is_sent && first.seal != ABSENT && first.seal != (word)status.st_mtim.tv_nsec)
        damaged("somebody has written to it");
    word size = paged(first.tables_end);
    long at = kernel6(__NR_mmap, TABLES, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, ~0UL, 0);
    if (at != (long)TABLES)
        fresh("there is no memory", "");
    for (word got = 0; got < first.tables_end;) {
        long piece = kernel4(__NR_pread64, image_file, TABLES + got, first.tables_end - got, got);
        if (piece <= 0)
            damaged("its tables cannot be read");
        got += (word)piece;
    }
    struct header *header = (struct header *)TABLES;
    word expected = header->checksum;
    header->checksum = 0;
    if (digest(header, header->tables_end) != expected)
        damaged("the checksum of its tables is another");
    header->checksum = expected;
    image = header;
}

static void check_section(struct section section, word entry) {
    if (section.at < sizeof *image || section.at > image->tables_end || section.at % sizeof(word) ||
        section.count > (image->tables_end - section.at) / entry)
        damaged("a table lies outside");
}

static void check_sections(void) {
    check_section(image->files, sizeof(struct file));
    check_section(image->regions, sizeof(struct region));
    check_section(image->runs, sizeof(struct run));
    check_section(image->variables, sizeof(struct variable));
    check_section(image->signals, sizeof(struct handler));
    check_section(image->words, sizeof(word));
    check_section(image->blocks, sizeof(word));
    check_section(image->text, 1);
    if (!image->text.count || *text_at(image->text.count - 1))
        damaged("its texts have no end");
    if (!image->words.count)
        damaged("it names no interpreter");
}

static void check_text(word offset) {
    if (offset >= image->text.count)
        damaged("a text lies outside");
}

static void check_texts(void) {
    for (word i = 0; i < image->files.count; i++)
        check_text(TABLE(file, files)[i].path);
    check_text(image->key);
    for (word i = 0; i < image->words.count; i++)
        check_text(((const word *)((const char *)image + image->words.at))[i]);
    for (word i = 0; i < image->variables.count; i++) {
        check_text(TABLE(variable, variables)[i].name);
        if (TABLE(variable, variables)[i].value < FREE)
            check_text(TABLE(variable, variables)[i].value);
    }
}

/* Regions ascend, lie in the user's half of addresses, and leave what is ours alone. */
static void check_regions(void) {
    word last = page;
    for (word i = 0; i < image->regions.count; i++) {
        struct region each = TABLE(region, regions)[i];
        word end = each.start + each.size;
        if (each.start < last || (each.start | each.size | each.offset) & (page - 1) || !each.size || end < each.start ||
            end >> ADDRESS_BITS || (each.start < OWN_END && end > OWN_BEGIN))
            damaged("a region lies where none can");
        if (each.protection > 7 || each.kind > WIPED ||
            (each.kind == MAPPED && (each.file >= image->files.count || each.file >= MOST_FILES)))
            damaged("a region is of no known kind");
        last = end;
    }
}

/* Runs ascend, and each lies in one region and in the body. */
static void check_runs(void) {
    word last = 0, in = 0;
    for (word i = 0; i < image->runs.count; i++) {
        struct run each = TABLE(run, runs)[i];
        const struct region *region = TABLE(region, regions);
        if (each.start < last || (each.start | each.size | each.at) & (page - 1) || !each.size ||
            each.at < image->body_at || each.at > image->file_size || each.size > image->file_size - each.at)
            damaged("pages lie outside of it");
        while (in < image->regions.count && region[in].start + region[in].size <= each.start)
            in++;
        if (in == image->regions.count || each.start < region[in].start || region[in].kind > STACK ||
            each.size > region[in].start + region[in].size - each.start)
            damaged("pages belong to no region");
        last = each.start + each.size;
    }
}

static void check_address(word address, word size, word needs) {
    for (word i = 0; i < image->regions.count; i++) {
        struct region each = TABLE(region, regions)[i];
        if (address >= each.start && address - each.start < each.size &&
            size <= each.size - (address - each.start) && (each.protection & needs) == needs && each.kind <= STACK)
            return;
    }
    damaged("an address lies outside");
}

static void check_thread(void) {
    const struct thread *thread = &image->thread;
    check_address(thread->code, 1, PROT_EXEC);
    check_address(thread->stack, 64, PROT_WRITE);
    check_address(thread->pointer, 64, PROT_WRITE);
    check_address(thread->tid, 4, PROT_WRITE);
    check_address(thread->robust, thread->robust_size, PROT_WRITE);
    if (thread->rseq_size)
        check_address(thread->rseq, 32, PROT_WRITE);
    for (word i = 0; i < image->signals.count; i++)
        if (TABLE(handler, signals)[i].number - 1 >= 64)
            damaged("a signal has no such number");
}

void open_image(void) {
    open_own_file();
    read_tables();
    check_sections();
    check_texts();
    words_are_known = 1;
    check_regions();
    check_runs();
    check_thread();
}
