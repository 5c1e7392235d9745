/*
 * negotiate.h: what request headers ask for. Text in, meaning out; nothing here
 * knows HTTP connections.
 */
#ifndef SRV_NEGOTIATE_H
#define SRV_NEGOTIATE_H

#include <stdbool.h>
#include <stddef.h>

#include "codec.h"

/* Accept: how much each type we have is wanted, in thousandths; -1: not said.
 * Start from srv_accept_init, add every Accept header, then ask. */
struct srv_accept {
    bool said;
    int json[3]; /* by precision of the range: any, any of a kind, exactly */
    int text[3];
    int html[3];
};
void srv_accept_init(struct srv_accept *accept);
void srv_accept_add(struct srv_accept *accept, const char *header);
enum srv_media {
    SRV_MEDIA_JSON,
    SRV_MEDIA_TEXT,
    SRV_MEDIA_NONE
};
enum srv_media srv_accept_best(const struct srv_accept *accept);
/* Whether HTML is taken. */
bool srv_accept_takes_html(const struct srv_accept *accept);

/* Accept-Encoding: how much each coding is wanted, in thousandths; -1: not
 * said. Start from srv_codings_init. */
struct srv_codings {
    bool said;
    int quality[SRV_N_CODINGS];
    int any; /* "*" */
};
void srv_codings_init(struct srv_codings *codings);
void srv_codings_add(struct srv_codings *codings, const char *header);
/* What to send an answer of that many bytes in: the most wanted coding, of
 * equally wanted ones zstd before gzip; but as it is when there was no header,
 * or when it is short and that is not excluded. SRV_N_CODINGS: nothing that we
 * have is wanted. */
enum srv_coding srv_codings_best(const struct srv_codings *codings,
                                 size_t n_bytes);

/* The suffix of the ETag of an answer in that coding: "", "-gzip", "-zstd". */
const char *srv_etag_suffix(enum srv_coding coding);
/* Whether an If-None-Match names the answer, in whatever coding. `etag` has no
 * quotes and no suffix. Weak comparison (RFC 9110, 13.1.2). */
bool srv_etag_matches(const char *header, const char *etag);

/* Prefer (RFC 7240): what of it we know. Preferences that do not parse are no
 * preferences. */
struct srv_prefer {
    bool has_wait;
    bool respond_async;
    unsigned wait_s;
};
void srv_prefer_add(struct srv_prefer *prefer, const char *header);

/* Whether a Priority header (RFC 9218) asks for less than the usual urgency:
 * u=4 to u=7. */
bool srv_priority_is_low(const char *header);

/* Whether a Content-Type is JSON in UTF-8; a JSON document on each line. */
bool srv_content_is_json(const char *header);
bool srv_content_is_ndjson(const char *header);

#endif
