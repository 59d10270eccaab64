/* A library that does ACT before Python begins. */
#include <stdlib.h>
#include <unistd.h>
long kept;
__attribute__((constructor)) static void begin(void) { ACT; }
