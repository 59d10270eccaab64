#include "inodes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 16 };

struct inode {
    struct inode *next;
    uint64_t known; /* how many times the kernel has been told of it and has not forgotten it */
    char path[];
};

static struct inode *buckets[BUCKETS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* FNV-1a. */
static struct inode **bucket_of(const char *path)
{
    uint32_t hash = 2166136261u;
    for (; *path; path++)
        hash = (hash ^ (unsigned char)*path) * 16777619u;
    return &buckets[hash % BUCKETS];
}

const char *inode_path(fuse_ino_t inode)
{
    return inode == FUSE_ROOT_ID ? "." : ((struct inode *)inode)->path;
}

fuse_ino_t inode_remember(const char *path)
{
    struct inode **bucket = bucket_of(path), *found;
    pthread_mutex_lock(&mutex);
    for (found = *bucket; found && strcmp(found->path, path) != 0; found = found->next)
        ;
    if (!found && (found = calloc(1, sizeof *found + strlen(path) + 1))) {
        strcpy(found->path, path);
        found->next = *bucket;
        *bucket = found;
    }
    if (found)
        found->known++;
    pthread_mutex_unlock(&mutex);
    return (fuse_ino_t)found;
}

void inode_forget(fuse_ino_t inode, uint64_t times)
{
    if (inode == FUSE_ROOT_ID)
        return;
    struct inode *forgotten = (struct inode *)inode, **link = bucket_of(forgotten->path);
    pthread_mutex_lock(&mutex);
    forgotten->known -= times;
    if (!forgotten->known) {
        while (*link != forgotten)
            link = &(*link)->next;
        *link = forgotten->next;
        free(forgotten);
    }
    pthread_mutex_unlock(&mutex);
}
