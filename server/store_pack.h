/*
 * store_pack.h: documents as they lie in the store, a zstd frame each with a
 * checksum.
 *
 * Threads: a packer belongs to one; srv_unpack may be called from any.
 */
#ifndef SRV_STORE_PACK_H
#define SRV_STORE_PACK_H

#include <stddef.h>

#include "store.h"

struct ZSTD_CCtx_s;

struct srv_packed { /* zero: nothing yet */
    char *bytes;    /* malloc'ed */
    size_t length;
};
void srv_packed_release(struct srv_packed *packed);

/* Packs at zstd's fastest level. SRV_STORE_OK or SRV_STORE_NO_MEMORY. The
 * context is made at first use and freed with ZSTD_freeCCtx. O(length). */
enum srv_store_result srv_pack(struct ZSTD_CCtx_s **context, const char *bytes,
                               size_t length, struct srv_packed *packed);
/* Unpacks a frame of exactly `length` bytes, at most `most`, into *bytes, which
 * the caller frees, with a NUL behind them. SRV_STORE_FAILED: the frame is not
 * what was written. */
enum srv_store_result srv_unpack(const void *frame, size_t frame_length,
                                 size_t length, size_t most, char **bytes);

#endif
