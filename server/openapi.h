/*
 * openapi.h: the description of all calls, OpenAPI 3.1, as GET /openapi.json
 * gives it. Made by server/openapi.py.
 */
#ifndef SRV_OPENAPI_H
#define SRV_OPENAPI_H

#include <stddef.h>

/* The document. Static. */
const char *srv_openapi(size_t *length);

#endif
