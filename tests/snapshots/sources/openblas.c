/* A library of which an image may have the child's state, by its name. */
#include <pthread.h>
int is_child;
static void in_child(void) { is_child = 1; }
__attribute__((constructor)) static void begin(void) { pthread_atfork(0, 0, in_child); }
