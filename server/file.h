/*
 * file.h: small files that settings name, read whole.
 */
#ifndef SRV_FILE_H
#define SRV_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The bytes of a regular file of at most `most` bytes, with a NUL behind them;
 * srv_file_free. NULL after a failure, which `why` then says. *is_exposed:
 * whether everybody on the machine may read it. Does not wait, whatever the
 * path names. */
char *srv_file_read(const char *path, size_t most, size_t *n_bytes,
                    bool *is_exposed, char *why, size_t n_why);
/* Wipes the bytes, which may be secret, and frees them. NULL is fine. */
void srv_file_free(char *bytes, size_t n_bytes);

#endif
