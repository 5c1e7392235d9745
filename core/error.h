/*
 * error.h: how core reports. The first message wins, so a caller may add
 * context without destroying the cause.
 */
#ifndef REMAT_ERROR_H
#define REMAT_ERROR_H

#include "remat.h"

/* Records and returns `status`; printf-style; err may be NULL. */
enum remat_status remat_error_set(struct remat_error *err,
                                  enum remat_status status, remat_node node,
                                  const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
