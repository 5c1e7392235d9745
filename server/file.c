/*
 * file.c: see file.h.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_all(int fd, char *bytes, size_t n_bytes)
{
    size_t done = 0;

    while (done < n_bytes) {
        const ssize_t n = read(fd, bytes + done, n_bytes - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static char *read_open(int fd, const struct stat *info, size_t most, char *why,
                       size_t n_why)
{
    const size_t n_bytes = (size_t)info->st_size;

    if (!S_ISREG(info->st_mode) || info->st_size < 0 || n_bytes > most) {
        snprintf(why, n_why, "must be a regular file of at most %zu bytes",
                 most);
        return NULL;
    }
    char *bytes = calloc(1, n_bytes + 1);
    if (bytes != NULL && read_all(fd, bytes, n_bytes))
        return bytes;
    snprintf(why, n_why, "cannot be read");
    free(bytes);
    return NULL;
}

char *srv_file_read(const char *path, size_t most, size_t *n_bytes,
                    bool *is_exposed, char *why, size_t n_why)
{
    /* Without O_NONBLOCK a named pipe would wait for a writer. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    char *bytes = NULL;

    if (fd < 0 || fstat(fd, &info) != 0) {
        if (strerror_r(errno, why, n_why) != 0)
            snprintf(why, n_why, "error %d", errno);
    } else {
        *is_exposed = (info.st_mode & S_IROTH) != 0;
        *n_bytes = (size_t)info.st_size;
        bytes = read_open(fd, &info, most, why, n_why);
    }
    if (fd >= 0)
        close(fd);
    return bytes;
}

void srv_file_free(char *bytes, size_t n_bytes)
{
    if (bytes == NULL)
        return;
    OPENSSL_cleanse(bytes, n_bytes);
    free(bytes);
}
