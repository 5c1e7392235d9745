/*
 * openapi.c: the file server/openapi.json inside the program.
 */
#include "openapi.h"

/* The path is seen from where make runs. */
__asm__(".section .rodata\n"
        "srv_openapi_begin:\n"
        ".incbin \"server/openapi.json\"\n"
        "srv_openapi_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char srv_openapi_begin[] __attribute__((visibility("hidden")));
extern const char srv_openapi_end[] __attribute__((visibility("hidden")));

const char *srv_openapi(size_t *length)
{
    /* cppcheck-suppress comparePointers ; to the linker they are one object */
    *length = (size_t)(srv_openapi_end - srv_openapi_begin);
    return srv_openapi_begin;
}
