/* What this process was asked for. */
#ifndef WARM_COMMAND_H
#define WARM_COMMAND_H

#include "format.h"

/* The program that leads here and knows how to start without an image, or 0, and the Python that it is to start, or 0; what
 * follows is for such a door alone. The option of Python, or 0, is that of the image. By the key the door knows the program; it is 0 for an image that was found by that. */
extern char *door, *python, *option, *key;
/* Says to the door that there was no image to start from, which Python to start, and with which option. */
#define FRESH "--fresh"
#define PYTHON "--python"
#define OPTION "--option"
#define KEY "--key"
/* A session vouches for the tree; somebody else says for the job what is to be said; nothing is to start, and the status says
 * whether it could. */
extern int trusted, quiet, looks;
/* The image, or the kept store that has it; the script with its arguments; variables. */
extern char *image_path, **given, **variables;
/* What is executed in doubt, once that is known. */
extern char **plain;

void read_command(word count, char **arguments);

#endif
