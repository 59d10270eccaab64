/* What the starter hands over to an interpreter that goes on: the words of the command line follow at once, as pointers
 * with a null at their end. */
#ifndef RESTORER_BEGIN_H
#define RESTORER_BEGIN_H

#include "format.h"

struct begin {
    word count;       /* of the words */
    char **variables; /* with a null at their end, as the next */
    char **plain;     /* what is executed where the image is not to be used after all: the starter with the base, where there is one */
    word quiet;       /* whether that is not to be said: another process does so for the job, or the base is no news */
};

#endif
