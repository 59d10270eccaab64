/* The recorder's log. */
#ifndef RESTORER_LOG_H
#define RESTORER_LOG_H

#include "format.h"

/* Whether that failed. */
int open_log(const char *path);
int end_log(void);

/* What has been noted is in the file, should the recorder be killed. */
void write_log(void);

/* Write a line: see recorder.c. */
void log_call(long thread, const char *name, long result, const long arguments[4], const char *path);

#endif
