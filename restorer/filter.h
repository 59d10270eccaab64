/* Which calls of a traced process are of no interest: seccomp(2). */
#ifndef RESTORER_FILTER_H
#define RESTORER_FILTER_H

#include "format.h"

/* Have the tracer asked about each call of this process but `harmless` ones, and `of_streams` on other descriptors than 0, 1 and 2.
 * Where the kernel or a filter that is there forbids it, nothing is filtered. */
void filter_calls(const int *harmless, word harmless_count, const int *of_streams, word stream_count);

#endif
