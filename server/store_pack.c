/*
 * store_pack.c: zstd in one call each way; the length is known beforehand, so
 * that a frame that lies about itself costs nothing.
 */
#include "store_pack.h"

#include <stdlib.h>
#include <zstd.h>

void srv_packed_release(struct srv_packed *packed)
{
    free(packed->bytes);
    packed->bytes = NULL;
    packed->length = 0;
}

enum srv_store_result srv_pack(struct ZSTD_CCtx_s **context, const char *bytes,
                               size_t length, struct srv_packed *packed)
{
    const size_t room = ZSTD_compressBound(length);
    char *out = malloc(room);

    if (*context == NULL) {
        *context = ZSTD_createCCtx();
        if (*context != NULL) {
            ZSTD_CCtx_setParameter(*context, ZSTD_c_compressionLevel, 1);
            ZSTD_CCtx_setParameter(*context, ZSTD_c_checksumFlag, 1);
        }
    }
    if (out == NULL || *context == NULL) {
        free(out);
        return SRV_STORE_NO_MEMORY;
    }
    const size_t n = ZSTD_compress2(*context, out, room, bytes, length);
    if (ZSTD_isError(n)) { /* only memory can be short here */
        free(out);
        return SRV_STORE_NO_MEMORY;
    }
    packed->bytes = realloc(out, n);
    if (packed->bytes == NULL)
        packed->bytes = out;
    packed->length = n;
    return SRV_STORE_OK;
}

enum srv_store_result srv_unpack(const void *frame, size_t frame_length,
                                 size_t length, size_t most, char **bytes)
{
    char *out;

    *bytes = NULL;
    if (length > most ||
        ZSTD_getFrameContentSize(frame, frame_length) != length)
        return SRV_STORE_FAILED;
    out = malloc(length + 1);
    if (out == NULL)
        return SRV_STORE_NO_MEMORY;
    if (ZSTD_decompress(out, length, frame, frame_length) != length) {
        free(out);
        return SRV_STORE_FAILED;
    }
    out[length] = '\0';
    *bytes = out;
    return SRV_STORE_OK;
}
