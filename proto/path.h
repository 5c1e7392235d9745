/*
 * path.h: where in the document we are. Frames live on the C stack while the
 * decoder descends; the pointer is only written when something is wrong.
 */
#ifndef PROTO_PATH_H
#define PROTO_PATH_H

#include <stddef.h>

struct proto_path {
    const struct proto_path *up; /* NULL: the root */
    const char *key;             /* member of an object, or NULL */
    size_t index;                /* else: position in a list */
};

static inline struct proto_path proto_path_key(const struct proto_path *up,
                                               const char *key)
{
    return (struct proto_path){up, key, 0};
}

static inline struct proto_path proto_path_index(const struct proto_path *up,
                                                 size_t index)
{
    return (struct proto_path){up, NULL, index};
}

/* The JSON Pointer (RFC 6901) of `path`, cut short where it does not fit. The
 * root frame itself (up NULL) stands for the document: "". */
void proto_path_write(const struct proto_path *path, char *pointer,
                      size_t size);

#endif
