/* What this process was asked for. */
#ifndef RESTORER_COMMAND_H
#define RESTORER_COMMAND_H

#include "format.h"

/* The program that leads here and knows how to start without an image, or 0, and the Python that it is to start, or 0; what
 * follows is for python-mpi alone. The option of Python, or 0, is that of the image. By the key python-mpi knows the program; it is 0 for an image that was named as a file. */
extern char *python_mpi, *python, *option, *key;
/* Says to python-mpi that there was no image to start from, that the base is left and all else to be made anew, which Python to
 * start, and with which option. */
#define FRESH "--fresh"
#define RENEW "--renew"
#define PYTHON "--python"
#define OPTION "--option"
#define KEY "--key"
/* The image file that has the tree vouches for its files; another process says for the job what is to be said, or nobody prepared
 * it; python-mpi is to have it made anew, before it comes back for the base; the base is meant, if there is one; nothing is
 * started: see validate_for_job of key.h. */
extern int immutable, quiet, renews, wants_base, validates;
#define BASE "--base"
/* The image, or the entry of a library that has it; the script with its arguments; variables. */
extern char *image_path, **given, **variables;
/* The words of a command in front of those of the program, and how many these are. */
struct command {
    char **words;
    word own;
};
/* What is executed in doubt: python-mpi, where there is one; this program with the base, where one is beside the image that was
 * opened: behind these the program's words lie; and the whole command, once it lies where the image leaves it alone. */
extern struct command plain, with_base;
extern char **in_doubt;

void read_command(word count, char **arguments);

/* Have this program executed with the base in doubt. The words that it was given are no longer its own. */
void turn_to_base(void);

/* The value of a variable, or 0. */
const char *value_of(const char *name);

/* Whether the user asks for more than what goes wrong. */
int is_verbose(void);

#endif
