/* What the kernel says of this process: its mappings, and whether an image may be mapped over it. */
#ifndef RESTORER_PROCESS_H
#define RESTORER_PROCESS_H

#include PROCESSOR

/* What is ours alone: no interpreter, library, stack or heap lies here. */
#define TABLES (OWN_BEGIN + 0x100000000UL)
#define BLOCK (OWN_BEGIN + 0x200000000UL)
#define STAGE (OWN_BEGIN + 0x300000000UL)
#define OWN_END (OWN_BEGIN + 0x1000000000UL)

/* A mapping outside of what is ours. */
struct mapping {
    word start, end;
    enum kind kind; /* VDSO, VVAR, or ANONYMOUS for all that may go */
};

enum { MOST_MAPPINGS = 256 };
extern struct mapping mappings[MOST_MAPPINGS];
extern word mapping_count, ignored_signals;
/* Bytes of a page, a power of two. */
extern word page;

/* Rounded up to pages. */
static inline word paged(word size) {
    return (size + page - 1) & -page;
}

void look_at_process(void);

#endif
