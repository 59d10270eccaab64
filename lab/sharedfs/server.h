/* The simulated server of a shared file system: one piece of memory, mapped by all of its clients, in which each
 * reserves the time that its requests take. So all clients wait in one queue, and there is no process to wait for. */
#ifndef SERVER_H
#define SERVER_H

#include <stdatomic.h>
#include <stdint.h>

/* What is counted for each client. The order is that of Counts in filesystem.py. */
enum counter {
    LOOKUPS, ABSENT, GETATTRS, OPENS, CLOSES, OPENDIRS, READDIRS, READLINKS, STATFSS, READS, READ_BYTES,
    COUNTERS
};

/* Words of 64 bits in this order are what filesystem.py writes and reads. Times are in nanoseconds. */
struct server {
    _Atomic uint64_t service_time;     /* of one metadata operation */
    _Atomic uint64_t bytes_per_second; /* of all reads together; 0: without limit */
    _Atomic uint64_t metadata_free_at; /* on CLOCK_MONOTONIC: when all that is reserved is done */
    _Atomic uint64_t data_free_at;
    _Atomic uint64_t metadata_busy;
    _Atomic uint64_t data_busy;
    _Atomic uint64_t counts[][COUNTERS]; /* one row for each client */
};

/* Map the memory behind a descriptor; NULL and errno where that fails. */
struct server *server_map(int fd);

/* Count one metadata operation of a client and wait until the server has done it. */
void server_metadata(struct server *server, unsigned client, enum counter operation);

/* Without waiting: nobody waits for the end of a close. */
void server_metadata_later(struct server *server, unsigned client, enum counter operation);

/* Count one read of so many bytes and wait until the server has sent them. */
void server_read(struct server *server, unsigned client, uint64_t bytes);

#endif
