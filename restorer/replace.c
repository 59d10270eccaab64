#include "replace.h"
#include "fresh.h"
#include "kernel.h"
#include "key.h"
#include "process.h"
#include "tables.h"

#include <linux/mman.h>
#include <sys/mman.h>

static int is_kernels(word kind) {
    return kind == VDSO || kind == VVAR;
}

/* The code of the vdso finds its data by distance: both images of it must be laid out alike. */
void check_vdso(void) {
    word first_here = 0, first_there = 0, here = 0;
    for (word i = 0; i < image->regions.count; i++) {
        struct region each = TABLE(region, regions)[i];
        if (!is_kernels(each.kind))
            continue;
        while (here < mapping_count && !is_kernels(mappings[here].kind))
            here++;
        if (here == mapping_count)
            fresh("the vdso has fewer parts", "");
        if (!first_there)
            first_there = each.start, first_here = mappings[here].start;
        if (mappings[here].kind != each.kind || mappings[here].end - mappings[here].start != each.size ||
            mappings[here].start - first_here != each.start - first_there)
            fresh("the vdso is laid out otherwise", "");
        here++;
    }
    while (here < mapping_count && !is_kernels(mappings[here].kind))
        here++;
    if (here < mapping_count)
        fresh("the vdso has more parts", "");
}

static void move(word from, word size, word to) {
    if (kernel5(__NR_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != (long)to)
        fresh("the vdso cannot be moved", "");
}

/* What the kernel gave this process is taken away, but for the vdso, which steps aside first. */
static void clear(void) {
    word aside = STAGE;
    for (word i = 0; i < mapping_count; i++) {
        word size = mappings[i].end - mappings[i].start;
        if (!is_kernels(mappings[i].kind))
            continue;
        move(mappings[i].start, size, aside);
        mappings[i].start = aside;
        mappings[i].end = aside += size;
    }
    for (word i = 0; i < mapping_count; i++)
        if (!is_kernels(mappings[i].kind))
            kernel3(__NR_munmap, mappings[i].start, mappings[i].end - mappings[i].start, 0);
}

static void map(word start, word size, word protection, word flags, long file, word offset) {
    if (kernel6(__NR_mmap, start, size, protection, flags | MAP_FIXED_NOREPLACE, (word)file, offset) != (long)start)
        fresh("it cannot be mapped", "");
}

static void map_regions(void) {
    word here = 0;
    for (word i = 0; i < image->regions.count; i++) {
        struct region each = TABLE(region, regions)[i];
        if (is_kernels(each.kind)) {
            while (!is_kernels(mappings[here].kind))
                here++;
            move(mappings[here++].start, each.size, each.start);
        } else if (each.kind == MAPPED) {
            map(each.start, each.size, each.protection, MAP_PRIVATE, open_files[each.file], each.offset);
        } else {
            map(each.start, each.size, each.protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (each.kind == STACK ? MAP_GROWSDOWN : 0), -1, 0);
            if (each.kind == WIPED && kernel3(__NR_madvise, each.start, each.size, MADV_WIPEONFORK))
                fresh("the kernel wipes no memory in a fork", "");
        }
    }
}

static const struct region *region_of(word address) {
    const struct region *each = TABLE(region, regions);
    while (each->start + each->size <= address)
        each++;
    return each;
}

/* The stack is read, since only anonymous memory grows; all else is mapped from the image, private to this process. */
static void map_runs(void) {
    for (word i = 0; i < image->runs.count; i++) {
        struct run run = TABLE(run, runs)[i];
        const struct region *region = region_of(run.start);
        if (region->kind != STACK) {
            if (kernel6(__NR_mmap, run.start, run.size, region->protection, MAP_PRIVATE | MAP_FIXED,
                        (word)image_file, run.at) != (long)run.start)
                fresh("its pages cannot be mapped", "");
            continue;
        }
        for (word got = 0; got < run.size;) {
            long piece = kernel4(__NR_pread64, image_file, run.start + got, run.size - got, run.at + got);
            if (piece <= 0)
                fresh("its stack cannot be read", "");
            got += (word)piece;
        }
        if (region->protection & PROT_EXEC)
            __builtin___clear_cache((char *)run.start, (char *)run.start + run.size);
    }
}

void replace_process(void) {
    clear();
    map_regions();
    map_runs();
}
