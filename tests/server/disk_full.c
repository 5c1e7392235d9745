/*
 * disk_full.c: a library to preload: while the file that REMAT_TEST_FULL names
 * is there, writing to a database fails as on a full disk.
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_full(int fd)
{
    const char *flag = getenv("REMAT_TEST_FULL");
    char link[64];
    char path[512];

    if (flag == NULL || access(flag, F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    if (n <= 0)
        return 0;
    path[n] = '\0';
    return strstr(path, "/rematd.db") != NULL;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

typedef ssize_t write_at(int fd, const void *bytes, size_t n, off64_t at);

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    write_at *next;
    void *found = real("pwrite64");

    if (is_full(fd)) {
        errno = ENOSPC;
        return -1;
    }
    memcpy(&next, &found, sizeof next);
    return next(fd, bytes, n, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return pwrite64(fd, bytes, n, at);
}
