#include "command.h"
#include "text.h"

char *door, *python, *option, *key, *image_path, **given, **variables, **plain;
int trusted, quiet, looks;

enum { MOST = 4096 };

/* The door's own words, with those given to the program. */
static void prepare_door(void) {
    static char fresh_word[] = FRESH, python_word[] = PYTHON, option_word[] = OPTION, *command[MOST + 1];
    word count = 0;
    command[count++] = door;
    command[count++] = fresh_word;
    if (python) {
        command[count++] = python_word;
        command[count++] = python;
    }
    if (option) {
        command[count++] = option_word;
        command[count++] = option;
    }
    for (char **each = given; *each && count < MOST; each++)
        command[count++] = *each;
    plain = command;
}

/* [--door DOOR [--python PYTHON] [--option OPTION] [--key KEY] [--trusted] [--quiet] [--look]] IMAGE SCRIPT [ARGUMENTS]; IMAGE is a kept store, or,
 * with a key or without a door, a file. */
void read_command(word count, char **arguments) {
    static char none[] = "", *nothing[] = {0};
    word at = 1;
    if (count > at + 1 && same(arguments[at], "--door")) {
        door = arguments[at + 1];
        for (at += 2; at < count; at++) {
            if (same(arguments[at], "--trusted"))
                trusted = 1;
            else if (same(arguments[at], "--quiet"))
                quiet = 1;
            else if (same(arguments[at], "--look"))
                looks = 1;
            else if (same(arguments[at], PYTHON) && at + 1 < count)
                python = arguments[++at];
            else if (same(arguments[at], OPTION) && at + 1 < count)
                option = arguments[++at];
            else if (same(arguments[at], KEY) && at + 1 < count)
                key = arguments[++at];
            else
                break;
        }
    }
    image_path = at < count ? arguments[at] : none;
    given = at + 1 < count ? arguments + at + 1 : nothing;
    if (door)
        prepare_door();
}
