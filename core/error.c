/*
 * error.c: statuses in words, and the message of an error.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>

const char *remat_status_code(enum remat_status status)
{
    switch (status) {
#define X(name, code, text) \
    case name:              \
        return code;
        REMAT_STATUS_MAP(X)
#undef X
    }
    return "internal-error";
}

enum remat_status remat_error_set(struct remat_error *err,
                                  enum remat_status status, remat_node node,
                                  const char *format, ...)
{
    va_list args;

    if (err == NULL || err->status != REMAT_OK)
        return status;
    err->status = status;
    err->node = node;
    va_start(args, format);
    (void)vsnprintf(err->detail, sizeof(err->detail), format, args);
    va_end(args);
    return status;
}
