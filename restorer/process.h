/* What the kernel says of this process: its mappings, and whether an image may be mapped over it. */
#ifndef RESTORER_PROCESS_H
#define RESTORER_PROCESS_H

#include "format.h"

/* What is ours alone: no interpreter, library, stack or heap lies here. */
#define OWN_BEGIN 0x100000000000UL
#define TABLES 0x100100000000UL
#define BLOCK 0x100200000000UL
#define STAGE 0x100300000000UL
#define OWN_END 0x101000000000UL

/* A mapping outside of what is ours. */
struct mapping {
    word start, end;
    enum kind kind; /* VDSO, VVAR, or ANONYMOUS for all that may go */
};

enum { MOST_MAPPINGS = 256 };
extern struct mapping mappings[MOST_MAPPINGS];
extern word mapping_count, ignored_signals;

void look_at_process(void);

#endif
