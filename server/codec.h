/*
 * codec.h: gzip and zstd of bodies, both ways.
 *
 * Decoding is streamed, and everything about it is bounded, whatever the bytes
 * are: what comes out by a number of bytes and by a ratio to what came in, the
 * memory by the window of the coding. A stream may consist of several members
 * (gzip) or frames (zstd); it must end where the body ends.
 */
#ifndef SRV_CODEC_H
#define SRV_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct srv_budget;

enum srv_coding {
    SRV_IDENTITY,
    SRV_GZIP,
    SRV_ZSTD,
    SRV_N_CODINGS
};

/* "identity", "gzip", "zstd". */
const char *srv_coding_name(enum srv_coding coding);
/* A Content-Encoding as its one coding, up to case; also "x-gzip". False when
 * it is none of ours or a list of several. */
bool srv_coding_parse(const char *header, enum srv_coding *coding);

/* ---- decoding ---------------------------------------------------------- */

#define SRV_DECODE_FREE_BYTES ((uint64_t)1 << 20) /* whatever the ratio */
#define SRV_DECODE_RATIO      UINT64_C(100)       /* beyond that */
#define SRV_ZSTD_WINDOW_LOG   23 /* 8 MiB, what RFC 9659 lets a client use */

/* The most compressed bytes that a body of max_bytes can be made of without
 * ill will: what stores bytes as they are adds a little. */
uint64_t srv_decode_most_in(uint64_t max_bytes);

enum srv_decode_result {
    SRV_DECODE_OK,
    SRV_DECODE_TOO_LARGE, /* more than max_bytes come out */
    SRV_DECODE_RATIO_TOO_HIGH,
    SRV_DECODE_CORRUPT,
    SRV_DECODE_NO_ROOM, /* beyond the budget, or no memory */
    SRV_DECODE_STOPPED  /* the sink took no more */
};

/* Takes decoded bytes; false: no more of them. */
typedef bool srv_decode_sink(void *context, const char *data, size_t n_bytes);

struct srv_decoder;

/* For a body of at most max_bytes decoded bytes. Its memory (gzip: 128 KiB,
 * zstd: up to 9 MiB, by its window) is taken from the budget as it grows. NULL
 * without memory or room in the budget. Not SRV_IDENTITY. */
struct srv_decoder *srv_decoder_new(enum srv_coding coding, uint64_t max_bytes,
                                    struct srv_budget *budget);
/* Decodes the next bytes of the body. The sink is given every decoded byte in
 * order, in pieces of at most 64 KiB, and none beyond a limit. After anything
 * but SRV_DECODE_OK the decoder is only to be freed. O(bytes in and out). */
enum srv_decode_result srv_decoder_feed(struct srv_decoder *decoder,
                                        const char *data, size_t n_bytes,
                                        srv_decode_sink *sink, void *context);
/* The body is over: SRV_DECODE_OK, or SRV_DECODE_CORRUPT when the stream is
 * not. */
enum srv_decode_result srv_decoder_end(struct srv_decoder *decoder);
/* What is wrong with a corrupt stream, in words; else "". */
const char *srv_decoder_why(const struct srv_decoder *decoder);
uint64_t srv_decoder_in_bytes(const struct srv_decoder *decoder);
uint64_t srv_decoder_out_bytes(const struct srv_decoder *decoder);
void srv_decoder_free(struct srv_decoder *decoder); /* NULL is fine */

/* ---- encoding ---------------------------------------------------------- */

#define SRV_ENCODE_LEAST_BYTES ((size_t)1024) /* shorter answers stay as is */

/* The fastest level of each coding. The bytes, which the caller frees, and
 * their number; NULL without memory. The same input gives the same bytes.
 * O(n_bytes); memory: the bound of the output. Any thread. */
char *srv_encode(enum srv_coding coding, const char *data, size_t n_bytes,
                 size_t *n_encoded);

#endif
