#include "tables.h"

const struct header *image;
long image_file;
int words_are_known;

const char *text_at(word offset) {
    return (const char *)image + image->text.at + offset;
}
