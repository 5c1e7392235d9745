/*
 * codec.c: zlib and libzstd behind one interface.
 *
 * A decoder is fed through feed_gzip or feed_zstd, which run the library until
 * it has taken all input and given all output; take_output counts, checks the
 * limits and hands on. Between two members or frames, and only there, the body
 * may end: `between`.
 */
#include "codec.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "body.h"
#include "word.h"

#define OUTPUT_BYTES     ((size_t)64 * 1024)
#define GZIP_BYTES       ((size_t)48 * 1024) /* window and tables of zlib */
#define GZIP_FORMAT_BITS 16                  /* gzip only, no zlib header */
#define GZIP_MEMORY      8
#define FASTEST          1
#define ZSTD_MAGIC       0x28 /* first byte of a frame, today's format */
#define ZSTD_SKIP_FIRST  0x50 /* and of frames to be skipped */
#define ZSTD_SKIP_LAST   0x5f

struct srv_decoder {
    enum srv_coding coding;
    uint64_t max_bytes;
    uint64_t in_bytes;
    uint64_t out_bytes;
    uint64_t n_ended; /* members or frames */
    bool between;     /* none is open */
    const char *why;
    struct srv_budget *budget;
    size_t charged_bytes; /* taken from the budget */
    z_stream gzip;
    ZSTD_DCtx *zstd;
    srv_decode_sink *sink; /* of the feed that runs */
    void *context;
    char output[OUTPUT_BYTES];
};

/* ---- names ------------------------------------------------------------- */

const char *srv_coding_name(enum srv_coding coding)
{
    static const char *const names[SRV_N_CODINGS] = {"identity", "gzip",
                                                     "zstd"};

    return names[coding];
}

bool srv_coding_parse(const char *header, enum srv_coding *coding)
{
    for (int i = 0; i < SRV_N_CODINGS; i++) {
        if (srv_text_is(header, srv_coding_name((enum srv_coding)i))) {
            *coding = (enum srv_coding)i;
            return true;
        }
    }
    if (!srv_text_is(header, "x-gzip"))
        return false;
    *coding = SRV_GZIP;
    return true;
}

/* ---- a decoder --------------------------------------------------------- */

uint64_t srv_decode_most_in(uint64_t max_bytes)
{
    const uint64_t more = max_bytes / 256 + 4096;

    return max_bytes > UINT64_MAX - more ? UINT64_MAX : max_bytes + more;
}

/* What the library holds now. */
static size_t library_bytes(const struct srv_decoder *decoder)
{
    return decoder->coding == SRV_GZIP ? GZIP_BYTES
                                       : ZSTD_sizeof_DCtx(decoder->zstd);
}

/* Brings the budget up to date; false when the decoder has become too large. */
static bool charge(struct srv_decoder *decoder)
{
    const size_t now = sizeof *decoder + library_bytes(decoder);

    if (now <= decoder->charged_bytes)
        return true;
    if (!srv_budget_take(decoder->budget, now - decoder->charged_bytes))
        return false;
    decoder->charged_bytes = now;
    return true;
}

static bool init_library(struct srv_decoder *decoder)
{
    if (decoder->coding == SRV_GZIP)
        return inflateInit2(&decoder->gzip, MAX_WBITS + GZIP_FORMAT_BITS) ==
               Z_OK;
    decoder->zstd = ZSTD_createDCtx();
    return decoder->zstd != NULL &&
           !ZSTD_isError(ZSTD_DCtx_setParameter(
               decoder->zstd, ZSTD_d_windowLogMax, SRV_ZSTD_WINDOW_LOG));
}

struct srv_decoder *srv_decoder_new(enum srv_coding coding, uint64_t max_bytes,
                                    struct srv_budget *budget)
{
    struct srv_decoder *decoder = malloc(sizeof *decoder);

    assert(coding != SRV_IDENTITY);
    if (decoder == NULL)
        return NULL;
    memset(decoder, 0, offsetof(struct srv_decoder, output));
    decoder->coding = coding;
    decoder->max_bytes = max_bytes;
    decoder->between = true;
    decoder->why = "";
    decoder->budget = budget;
    if (init_library(decoder) && charge(decoder))
        return decoder;
    srv_decoder_free(decoder);
    return NULL;
}

void srv_decoder_free(struct srv_decoder *decoder)
{
    if (decoder == NULL)
        return;
    if (decoder->coding == SRV_GZIP)
        inflateEnd(&decoder->gzip);
    ZSTD_freeDCtx(decoder->zstd);
    srv_budget_give(decoder->budget, decoder->charged_bytes);
    free(decoder);
}

const char *srv_decoder_why(const struct srv_decoder *decoder)
{
    return decoder->why;
}

uint64_t srv_decoder_in_bytes(const struct srv_decoder *decoder)
{
    return decoder->in_bytes;
}

uint64_t srv_decoder_out_bytes(const struct srv_decoder *decoder)
{
    return decoder->out_bytes;
}

static enum srv_decode_result corrupt(struct srv_decoder *decoder,
                                      const char *why)
{
    decoder->why = why;
    return SRV_DECODE_CORRUPT;
}

/* ---- its output -------------------------------------------------------- */

/* n_bytes lie in `output`. */
static enum srv_decode_result take_output(struct srv_decoder *decoder,
                                          size_t n_bytes)
{
    const uint64_t sum = decoder->out_bytes + n_bytes;

    if (n_bytes == 0)
        return SRV_DECODE_OK;
    if (sum > decoder->max_bytes)
        return SRV_DECODE_TOO_LARGE;
    if (sum > SRV_DECODE_FREE_BYTES &&
        sum > decoder->in_bytes * SRV_DECODE_RATIO)
        return SRV_DECODE_RATIO_TOO_HIGH;
    decoder->out_bytes = sum;
    if (!decoder->sink(decoder->context, decoder->output, n_bytes))
        return SRV_DECODE_STOPPED;
    return SRV_DECODE_OK;
}

/* ---- gzip -------------------------------------------------------------- */

static enum srv_decode_result gzip_failure(struct srv_decoder *decoder,
                                           int status)
{
    if (status == Z_MEM_ERROR)
        return SRV_DECODE_NO_ROOM;
    if (decoder->gzip.msg != NULL &&
        strcmp(decoder->gzip.msg, "incorrect header check") == 0)
        return corrupt(decoder, decoder->n_ended > 0
                                    ? "other bytes follow its end"
                                    : "it does not begin as one");
    if (decoder->gzip.msg != NULL &&
        (strcmp(decoder->gzip.msg, "incorrect data check") == 0 ||
         strcmp(decoder->gzip.msg, "incorrect length check") == 0))
        return corrupt(decoder, "its checksum does not match");
    return corrupt(decoder, "its data are damaged");
}

/* Takes what one call of inflate can take and give. */
static enum srv_decode_result step_gzip(struct srv_decoder *decoder, bool *more)
{
    z_stream *z = &decoder->gzip;
    const uInt had = z->avail_in;

    if (decoder->between && decoder->n_ended > 0 && inflateReset(z) != Z_OK)
        return SRV_DECODE_NO_ROOM;
    z->next_out = (Bytef *)decoder->output;
    z->avail_out = (uInt)OUTPUT_BYTES;
    decoder->between = false;
    const int status = inflate(z, Z_NO_FLUSH);
    decoder->in_bytes += had - z->avail_in;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return gzip_failure(decoder, status);
    if (status == Z_STREAM_END) {
        decoder->between = true;
        decoder->n_ended++;
    }
    *more = z->avail_in > 0 || (z->avail_out == 0 && !decoder->between);
    return take_output(decoder, OUTPUT_BYTES - z->avail_out);
}

static enum srv_decode_result feed_gzip(struct srv_decoder *decoder,
                                        const char *data, size_t n_bytes)
{
    enum srv_decode_result result = SRV_DECODE_OK;
    bool more = true;

    /* zlib reads through a pointer to non-const, but does not write. */
    union {
        const char *text;
        Bytef *bytes;
    } input = {.text = data};

    decoder->gzip.next_in = input.bytes;
    decoder->gzip.avail_in = (uInt)n_bytes;
    while (more && result == SRV_DECODE_OK)
        result = step_gzip(decoder, &more);
    decoder->gzip.next_in = NULL;
    decoder->gzip.avail_in = 0;
    return result;
}

/* ---- zstd -------------------------------------------------------------- */

static enum srv_decode_result zstd_failure(struct srv_decoder *decoder,
                                           size_t status)
{
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(status);

    if (code == ZSTD_error_memory_allocation)
        return SRV_DECODE_NO_ROOM;
    if (code == ZSTD_error_frameParameter_windowTooLarge)
        return corrupt(decoder, "its window is larger than 8 MiB; compress "
                                "without --long and --ultra");
    if (code == ZSTD_error_dictionary_wrong)
        return corrupt(decoder, "it needs a dictionary");
    if (code == ZSTD_error_checksum_wrong)
        return corrupt(decoder, "its checksum does not match");
    if (code == ZSTD_error_prefix_unknown)
        return corrupt(decoder, decoder->n_ended > 0
                                    ? "other bytes follow its end"
                                    : "it does not begin as one");
    return corrupt(decoder, "its data are damaged");
}

/* The library would also decode formats of before 2016, which know nothing of
 * the limit of the window. */
static bool begins_frame(char byte)
{
    const unsigned char first = (unsigned char)byte;

    return first == ZSTD_MAGIC ||
           (first >= ZSTD_SKIP_FIRST && first <= ZSTD_SKIP_LAST);
}

static enum srv_decode_result step_zstd(struct srv_decoder *decoder,
                                        ZSTD_inBuffer *input, bool *more)
{
    ZSTD_outBuffer output = {decoder->output, OUTPUT_BYTES, 0};
    const size_t had = input->pos;

    if (decoder->between &&
        !begins_frame(((const char *)input->src)[input->pos]))
        return corrupt(decoder, decoder->n_ended > 0
                                    ? "other bytes follow its end"
                                    : "it does not begin as one");
    decoder->between = false;
    const size_t status = ZSTD_decompressStream(decoder->zstd, &output, input);
    decoder->in_bytes += input->pos - had;
    if (ZSTD_isError(status))
        return zstd_failure(decoder, status);
    if (status == 0) {
        decoder->between = true;
        decoder->n_ended++;
    }
    if (!charge(decoder))
        return SRV_DECODE_NO_ROOM;
    *more = input->pos < input->size ||
            (output.pos == output.size && !decoder->between);
    return take_output(decoder, output.pos);
}

static enum srv_decode_result feed_zstd(struct srv_decoder *decoder,
                                        const char *data, size_t n_bytes)
{
    ZSTD_inBuffer input = {data, n_bytes, 0};
    enum srv_decode_result result = SRV_DECODE_OK;
    bool more = n_bytes > 0;

    while (more && result == SRV_DECODE_OK)
        result = step_zstd(decoder, &input, &more);
    return result;
}

/* ---- both -------------------------------------------------------------- */

enum srv_decode_result srv_decoder_feed(struct srv_decoder *decoder,
                                        const char *data, size_t n_bytes,
                                        srv_decode_sink *sink, void *context)
{
    enum srv_decode_result result = SRV_DECODE_OK;

    decoder->sink = sink;
    decoder->context = context;
    while (n_bytes > 0 && result == SRV_DECODE_OK) {
        const size_t part = n_bytes < INT_MAX ? n_bytes : INT_MAX;

        result = decoder->coding == SRV_GZIP ? feed_gzip(decoder, data, part)
                                             : feed_zstd(decoder, data, part);
        data += part;
        n_bytes -= part;
    }
    return result;
}

enum srv_decode_result srv_decoder_end(struct srv_decoder *decoder)
{
    if (decoder->in_bytes == 0)
        return corrupt(decoder, "it is empty");
    if (!decoder->between)
        return corrupt(decoder, "it ends too early");
    return SRV_DECODE_OK;
}

/* ---- encoding ---------------------------------------------------------- */

static char *encode_gzip(const char *data, size_t n_bytes, size_t *n_encoded)
{
    z_stream z = {0};
    union {
        const char *text;
        Bytef *bytes;
    } input = {.text = data};

    if (n_bytes > UINT_MAX / 2 ||
        deflateInit2(&z, FASTEST, Z_DEFLATED, MAX_WBITS + GZIP_FORMAT_BITS,
                     GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    const size_t most = deflateBound(&z, n_bytes);
    char *encoded = malloc(most);

    z.next_in = input.bytes;
    z.avail_in = (uInt)n_bytes;
    z.next_out = (Bytef *)encoded;
    z.avail_out = (uInt)most;
    if (encoded != NULL && deflate(&z, Z_FINISH) != Z_STREAM_END) {
        free(encoded);
        encoded = NULL;
    }
    *n_encoded = most - z.avail_out;
    deflateEnd(&z);
    return encoded;
}

static char *encode_zstd(const char *data, size_t n_bytes, size_t *n_encoded)
{
    const size_t most = ZSTD_compressBound(n_bytes);
    char *encoded = malloc(most);

    if (encoded == NULL)
        return NULL;
    *n_encoded = ZSTD_compress(encoded, most, data, n_bytes, FASTEST);
    if (!ZSTD_isError(*n_encoded))
        return encoded;
    free(encoded);
    return NULL;
}

char *srv_encode(enum srv_coding coding, const char *data, size_t n_bytes,
                 size_t *n_encoded)
{
    char *encoded = coding == SRV_GZIP ? encode_gzip(data, n_bytes, n_encoded)
                                       : encode_zstd(data, n_bytes, n_encoded);

    if (encoded == NULL)
        return NULL;
    char *fitted = realloc(encoded, *n_encoded);
    if (fitted != NULL)
        encoded = fitted;
    return encoded;
}
