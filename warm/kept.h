/* The kept store that holds an image: see store.py. */
#ifndef WARM_KEPT_H
#define WARM_KEPT_H

#include "format.h"

#include <sys/stat.h>

enum { MOST_NAMES = 64 };

/* Hold the store in this directory as long as this process lives, and open its image. The image, with its status, or what failed. */
long open_kept(const char *directory, struct stat *status);

/* Let people, and what removes unused stores, know that one more process starts from it. */
void count_use(void);

/* Open the image by the names that its libraries have; a name that does not lead to it is left out. */
void open_names(void);
void close_names(void);

/* What maps the pages of a region: the image by a name of its own, or by its first. */
long file_of_region(const struct region *region);

/* The directory, as the kernel names it, with the name of that number; 0 where it is not open. */
const char *directory_of_names(void);
const char *open_name(word number);

#endif
