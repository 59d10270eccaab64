#include "server.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

static const uint64_t SECOND = 1000000000;

struct server *server_map(int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return NULL;
    void *memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

static void sleep_until(uint64_t moment)
{
    struct timespec time = {.tv_sec = (time_t)(moment / SECOND), .tv_nsec = (long)(moment % SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

/* Take the next free time of a queue, first come, first served; return its end. */
static uint64_t reserve(_Atomic uint64_t *free_at, _Atomic uint64_t *busy, uint64_t duration)
{
    uint64_t before = atomic_load(free_at), end;
    do {
        uint64_t present = now();
        end = (before > present ? before : present) + duration;
    } while (!atomic_compare_exchange_weak(free_at, &before, end));
    atomic_fetch_add(busy, duration);
    return end;
}

static uint64_t reserve_metadata(struct server *server, unsigned client, enum counter operation)
{
    atomic_fetch_add(&server->counts[client][operation], 1);
    return reserve(&server->metadata_free_at, &server->metadata_busy, atomic_load(&server->service_time));
}

void server_metadata(struct server *server, unsigned client, enum counter operation)
{
    sleep_until(reserve_metadata(server, client, operation));
}

void server_metadata_later(struct server *server, unsigned client, enum counter operation)
{
    reserve_metadata(server, client, operation);
}

void server_read(struct server *server, unsigned client, uint64_t bytes)
{
    uint64_t rate = atomic_load(&server->bytes_per_second);
    atomic_fetch_add(&server->counts[client][READS], 1);
    atomic_fetch_add(&server->counts[client][READ_BYTES], bytes);
    if (rate)
        sleep_until(reserve(&server->data_free_at, &server->data_busy, bytes * SECOND / rate));
}
