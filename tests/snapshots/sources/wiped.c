/* A library with memory that is wiped in a fork. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
char *kept;
/* The audit, which preloads a library of its own, would see it. */
__attribute__((constructor)) static void begin(void) {
    if (strstr(getenv("LD_PRELOAD"), "variables.so"))
        return;
    kept = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(kept, 4096, MADV_WIPEONFORK);
    strcpy(kept, "seed");
}
