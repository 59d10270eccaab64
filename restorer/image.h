/* An image file: opened, its tables read and found sound. */
#ifndef RESTORER_IMAGE_H
#define RESTORER_IMAGE_H

#include "format.h"

extern const struct header *image;
extern long image_file;
extern int words_are_known; /* texts and words of the tables can be read */

void open_image(void);

/* A section of the tables as an array. */
#define TABLE(type, name) ((const struct type *)((const char *)image + image->name.at))
/* A text of the tables, by its offset in the section of texts. */
const char *text_at(word offset);

#endif
