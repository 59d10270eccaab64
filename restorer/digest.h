/* A checksum against damage, not against malice: four lanes of multiplied words. */
#ifndef RESTORER_DIGEST_H
#define RESTORER_DIGEST_H

#include "format.h"

static inline word mixed(word digest, word next) {
    digest = (digest ^ next) * 0x9e3779b97f4a7c15UL;
    return digest ^ digest >> 29;
}

/* `data` may lie anywhere; what is left of the last word counts as if zeros followed. */
static inline word digest(const void *data, word size) {
    const unsigned char *from = data;
    word lanes[4] = {1, 2, 3, 4}, last = 0, i = 0;
    for (; i + 32 <= size; i += 32)
        for (word lane = 0; lane < 4; lane++) {
            word next;
            __builtin_memcpy(&next, from + i + 8 * lane, 8);
            lanes[lane] = mixed(lanes[lane], next);
        }
    for (word rest = 0; i < size; i++, rest++) {
        last |= (word)from[i] << 8 * (rest % 8);
        if (rest % 8 == 7 || i + 1 == size) {
            lanes[rest / 8] = mixed(lanes[rest / 8], last);
            last = 0;
        }
    }
    return mixed(mixed(mixed(mixed(size, lanes[0]), lanes[1]), lanes[2]), lanes[3]);
}

#endif
