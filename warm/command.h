/* What this process was asked for. */
#ifndef WARM_COMMAND_H
#define WARM_COMMAND_H

#include "format.h"

/* The program that leads here and knows how to start without an image, or 0; what follows is about kept images alone. */
extern char *door;
/* Says to the door that there was no image to start from. */
#define FRESH "--fresh"
/* A session vouches for the tree; somebody else says for the job what is to be said. */
extern int trusted, quiet;
/* The image, or the kept store that has it; the script with its arguments; variables. */
extern char *image_path, **given, **variables;
/* What is executed in doubt, once that is known. */
extern char **plain;

void read_command(word count, char **arguments);

#endif
