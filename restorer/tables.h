/* What an image says of itself: its header and tables. */
#ifndef RESTORER_TABLES_H
#define RESTORER_TABLES_H

#include "format.h"

/* Files of the table whose pages are mapped; those behind them are only looked at. */
enum { MOST_FILES = 4096 };

extern const struct header *image;
extern long image_file;
extern int words_are_known; /* texts and words of the tables can be read */

/* A section of the tables as an array. */
#define TABLE(type, name) ((const struct type *)((const char *)image + image->name.at))
/* A text of the tables, by its offset in the section of texts. */
const char *text_at(word offset);

#endif
