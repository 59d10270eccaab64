/* Whether all is as it was when the image was made. */
#ifndef RESTORER_KEY_H
#define RESTORER_KEY_H

#include "tables.h"

/* Files that stay open until their pages are mapped, in the order of the image's table; -1: only looked at. */
extern int open_files[MOST_FILES];

/* An entry of a library has a directory for each kind of machine. Lead to the image for this one; else to any, which says what is
 * different. */
void find_variant(void);
void compare_key(void);
void close_files(void);
/* Validate the files of the opened image for all nodes of a job, and say what came of it. Ends the process. */
void validate_for_job(void);

#endif
