/*
 * path.c: frames to JSON Pointers.
 */
#include "path.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_FRAMES = 128
}; /* documents nest to 64 at most */

struct pointer {
    char *bytes;
    size_t length;
    size_t size;
};

/* All of it or nothing, so that no escape and no character is cut. */
static bool add(struct pointer *p, const char *bytes, size_t n)
{
    if (p->size - p->length <= n)
        return false;
    memcpy(p->bytes + p->length, bytes, n);
    p->length += n;
    p->bytes[p->length] = '\0';
    return true;
}

static bool add_key(struct pointer *p, const char *key)
{
    while (*key != '\0') {
        size_t n = 1;
        bool fits;

        while ((key[n] & 0xC0) == 0x80)
            n++;
        if (*key == '~')
            fits = add(p, "~0", 2);
        else if (*key == '/')
            fits = add(p, "~1", 2);
        else
            fits = add(p, key, n);
        if (!fits)
            return false;
        key += n;
    }
    return true;
}

void proto_path_write(const struct proto_path *path, char *pointer, size_t size)
{
    const struct proto_path *frames[MOST_FRAMES];
    struct pointer p = {pointer, 0, size};
    size_t n = 0;

    pointer[0] = '\0';
    for (; path != NULL && path->up != NULL && n < MOST_FRAMES; path = path->up)
        frames[n++] = path;
    while (n-- > 0) {
        char digits[24];

        if (!add(&p, "/", 1))
            return;
        if (frames[n]->key == NULL) {
            int length =
                snprintf(digits, sizeof(digits), "%zu", frames[n]->index);
            if (!add(&p, digits, (size_t)length))
                return;
        } else if (!add_key(&p, frames[n]->key)) {
            return;
        }
    }
}
