/*
 * fuzz_codec.c: any bytes as a compressed body; the first says which coding and
 * in which pieces they come. Whatever they are: what comes out stays within the
 * bytes and the ratio allowed, memory within the window, a fault has words, the
 * whole in one piece gives the same, and nothing is left of the budget.
 */
#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "codec.h"

#define MOST_BYTES   ((uint64_t)3 << 20)
#define MOST_MEMORY  ((size_t)9 << 20)
#define BUDGET_BYTES ((size_t)1 << 26)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct run {
    enum srv_decode_result result;
    uint64_t n_bytes;
    uint64_t sum; /* of what came out, by place and value */
};

static bool sink(void *context, const char *data, size_t n_bytes)
{
    struct run *run = context;

    for (size_t i = 0; i < n_bytes; i++)
        run->sum = run->sum * 31 + (unsigned char)data[i];
    run->n_bytes += n_bytes;
    return true;
}

static struct run decode(enum srv_coding coding, const char *data, size_t size,
                         size_t piece)
{
    struct srv_budget budget = {.limit_bytes = BUDGET_BYTES};
    struct srv_decoder *decoder = srv_decoder_new(coding, MOST_BYTES, &budget);
    struct run run = {.result = SRV_DECODE_OK};

    require(decoder != NULL);
    for (size_t at = 0; at < size && run.result == SRV_DECODE_OK; at += piece)
        run.result =
            srv_decoder_feed(decoder, data + at,
                             size - at < piece ? size - at : piece, sink, &run);
    if (run.result == SRV_DECODE_OK)
        run.result = srv_decoder_end(decoder);
    require(run.n_bytes <= MOST_BYTES);
    require(run.n_bytes <= SRV_DECODE_FREE_BYTES ||
            run.n_bytes <= size * SRV_DECODE_RATIO);
    require(run.n_bytes == srv_decoder_out_bytes(decoder));
    require(srv_decoder_in_bytes(decoder) <= size);
    require(atomic_load(&budget.used_bytes) <= MOST_MEMORY);
    require((run.result == SRV_DECODE_CORRUPT) ==
            (*srv_decoder_why(decoder) != '\0'));
    srv_decoder_free(decoder);
    require(atomic_load(&budget.used_bytes) == 0);
    return run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const enum srv_coding coding = data[0] % 2 == 0 ? SRV_GZIP : SRV_ZSTD;
    const size_t piece = (size_t)data[0] / 2 + 1;
    const char *stream = (const char *)data + 1;
    const struct run whole = decode(coding, stream, size - 1, size);
    const struct run parts = decode(coding, stream, size - 1, piece);

    /* In pieces the ratio is looked at at other moments. */
    if (whole.result != SRV_DECODE_OK ||
        parts.result == SRV_DECODE_RATIO_TOO_HIGH)
        return 0;
    require(parts.result == SRV_DECODE_OK);
    require(parts.n_bytes == whole.n_bytes && parts.sum == whole.sum);
    return 0;
}
