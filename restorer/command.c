#include "command.h"
#include "text.h"

char *python_mpi, *python, *option, *key, *image_path, **given, **variables, **in_doubt;
int immutable, quiet, renews, wants_base, validates;
struct command plain, with_base;
static char **words;

/* The words of python-mpi. */
static void prepare_python_mpi(void) {
    static char fresh_word[] = FRESH, python_word[] = PYTHON, option_word[] = OPTION, *command[6];
    word count = 0;
    command[count++] = python_mpi;
    command[count++] = fresh_word;
    if (python) {
        command[count++] = python_word;
        command[count++] = python;
    }
    if (option) {
        command[count++] = option_word;
        command[count++] = option;
    }
    plain = (struct command){command, count};
}

/* [--validate] [--base] [--python-mpi PROGRAM [--base] [--python PYTHON] [--option OPTION] [--key KEY] [--immutable] [--quiet] [--renew]] IMAGE SCRIPT [ARGUMENTS];
 * IMAGE is a file; with a key the entry of a library, where a variant for this machine is looked for. */
void read_command(word count, char **arguments) {
    static char none[] = "", *nothing[] = {0};
    word at = 1;
    words = arguments;
    for (; at < count; at++) {
        if (same(arguments[at], BASE))
            wants_base = 1;
        else if (!python_mpi && same(arguments[at], "--validate"))
            validates = 1;
        else if (!python_mpi && same(arguments[at], "--python-mpi") && at + 1 < count)
            python_mpi = arguments[++at];
        else if (!python_mpi)
            break;
        else if (same(arguments[at], "--immutable"))
            immutable = 1;
        else if (same(arguments[at], "--quiet"))
            quiet = 1;
        else if (same(arguments[at], RENEW))
            renews = 1;
        else if (same(arguments[at], PYTHON) && at + 1 < count)
            python = arguments[++at];
        else if (same(arguments[at], OPTION) && at + 1 < count)
            option = arguments[++at];
        else if (same(arguments[at], KEY) && at + 1 < count)
            key = arguments[++at];
        else
            break;
    }
    image_path = at < count ? arguments[at] : none;
    given = at + 1 < count ? arguments + at + 1 : nothing;
    if (python_mpi)
        prepare_python_mpi();
}

void turn_to_base(void) {
    static char self[] = "/proc/self/exe", base[] = BASE, renew[] = RENEW;
    if (renews) {
        /* Fewer words than there are in front of the program now. */
        with_base.words = given - plain.own;
        with_base.own = plain.own;
        memcpy(with_base.words, plain.words, plain.own * sizeof(char *));
        with_base.words[1] = renew;
        return;
    }
    /* The place of two more words: the kernel puts their number in front of them, and the first is our own name. */
    with_base.words = words - 1;
    with_base.own = (word)(given - with_base.words);
    with_base.words[0] = self;
    with_base.words[1] = base;
}

const char *value_of(const char *name) {
    for (char **each = variables; *each; each++) {
        const char *rest = begins(*each, name);
        if (rest && *rest == '=')
            return rest + 1;
    }
    return 0;
}

int is_verbose(void) {
    const char *value = value_of("MPIIMPORT_VERBOSE");
    return value && *value && !same(value, "0");
}
