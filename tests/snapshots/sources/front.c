/* A program in front of Python, which is PYTHON; it is called OWN. */
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **words) {
    setenv("SITE", "here", 1);
    words[0] = OWN;
    return execv(PYTHON, words);
}
