/* Whether all is as it was when the image was made. */
#ifndef WARM_KEY_H
#define WARM_KEY_H

#include "format.h"

/* Files that stay open until their pages are mapped, in the order of the image's table; -1: only looked at. */
enum { MOST_FILES = 4096 };
extern int open_files[MOST_FILES];

void compare_key(void);
void close_files(void);

#endif
