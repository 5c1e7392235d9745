/*
 * negotiate.c: parses Accept, Accept-Encoding, If-None-Match, Prefer,
 * Content-Type and Priority.
 *
 * Lists are walked element by element with next_element; a parameter list the
 * same way with ";" for ",". Quoted strings are respected while walking.
 */
#include "negotiate.h"

#include <string.h>

#include "word.h"

#define WAIT_MAX_S 86400U

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct span {
    const char *at;
    size_t n;
};

/* Takes the next element up to `separator` off *rest, trimmed; false at the
 * end. A quoted string hides separators. */
static bool next_element(const char **rest, const char *end, char separator,
                         struct span *element)
{
    const char *at = *rest;
    bool quoted = false;

    if (at >= end)
        return false;
    const char *start = at;
    for (; at < end && (quoted || *at != separator); at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (*at == '\\' && quoted && at + 1 < end)
            at++;
    }
    *rest = at < end ? at + 1 : end;
    while (start < at && is_blank(*start))
        start++;
    while (at > start && is_blank(at[-1]))
        at--;
    element->at = start;
    element->n = (size_t)(at - start);
    return true;
}

/* Splits "name=value" (value may be absent, quotes are taken off). */
static void split_pair(struct span pair, struct span *name, struct span *value)
{
    const char *equals = memchr(pair.at, '=', pair.n);
    const char *end = pair.at + pair.n;

    *name = pair;
    *value = (struct span){end, 0};
    if (equals == NULL)
        return;
    const char *name_end = equals;
    while (name_end > pair.at && is_blank(name_end[-1]))
        name_end--;
    const char *start = equals + 1;
    while (start < end && is_blank(*start))
        start++;
    /* cppcheck-suppress knownConditionTrueFalse ; start has moved */
    if (end - start >= 2 && *start == '"' && end[-1] == '"') {
        start++;
        end--;
    }
    name->n = (size_t)(name_end - pair.at);
    value->at = start;
    value->n = (size_t)(end - start);
}

/* ---- Accept ------------------------------------------------------------ */

/* A quality ("0.25") in thousandths; anything else counts as 1. */
static int parse_quality(struct span text)
{
    int quality = 0;
    int unit = 1000;

    for (size_t i = 0; i < text.n; i++) {
        const char c = text.at[i];

        if (i == 1 && c == '.')
            continue;
        if (c < '0' || c > '9' || i > 4)
            return 1000;
        quality += (c - '0') * unit;
        unit /= 10;
    }
    return text.n == 0 || quality > 1000 ? 1000 : quality;
}

/* Parts "gzip;q=0.5": what is wanted, and how much. False when it is empty. */
static bool split_quality(struct span element, struct span *what, int *quality)
{
    const char *inner = element.at;
    const char *end = element.at + element.n;
    struct span pair;

    *quality = 1000;
    if (!next_element(&inner, end, ';', what))
        return false;
    while (next_element(&inner, end, ';', &pair)) {
        struct span name;
        struct span value;

        split_pair(pair, &name, &value);
        if (srv_token_is(name.at, name.n, "q"))
            *quality = parse_quality(value);
    }
    return true;
}

void srv_accept_init(struct srv_accept *accept)
{
    *accept =
        (struct srv_accept){false, {-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
}

static void add_range(struct srv_accept *accept, struct span range, int quality)
{
    if (srv_token_is(range.at, range.n, "*/*")) {
        accept->json[0] = quality;
        accept->text[0] = quality;
        accept->html[0] = quality;
    } else if (srv_token_is(range.at, range.n, "application/*")) {
        accept->json[1] = quality;
    } else if (srv_token_is(range.at, range.n, "application/json")) {
        accept->json[2] = quality;
    } else if (srv_token_is(range.at, range.n, "text/*")) {
        accept->text[1] = quality;
        accept->html[1] = quality;
    } else if (srv_token_is(range.at, range.n, "text/plain")) {
        accept->text[2] = quality;
    } else if (srv_token_is(range.at, range.n, "text/html")) {
        accept->html[2] = quality;
    }
}

void srv_accept_add(struct srv_accept *accept, const char *header)
{
    const char *rest = header;
    const char *end = header + strlen(header);
    struct span element;

    accept->said = true;
    while (next_element(&rest, end, ',', &element)) {
        struct span range;
        int quality;

        if (split_quality(element, &range, &quality))
            add_range(accept, range, quality);
    }
}

/* The most precise range that names a type decides. */
static int wanted(const int quality[3])
{
    for (int i = 2; i >= 0; i--) {
        if (quality[i] >= 0)
            return quality[i];
    }
    return 0;
}

enum srv_media srv_accept_best(const struct srv_accept *accept)
{
    const int json = wanted(accept->json);
    const int text = wanted(accept->text);

    if (!accept->said)
        return SRV_MEDIA_JSON;
    if (json == 0 && text == 0)
        return SRV_MEDIA_NONE;
    return text > json ? SRV_MEDIA_TEXT : SRV_MEDIA_JSON;
}

bool srv_accept_takes_html(const struct srv_accept *accept)
{
    return !accept->said || wanted(accept->html) > 0;
}

/* ---- Accept-Encoding and If-None-Match --------------------------------- */

void srv_codings_init(struct srv_codings *codings)
{
    codings->said = false;
    codings->any = -1;
    for (int i = 0; i < SRV_N_CODINGS; i++)
        codings->quality[i] = -1;
}

void srv_codings_add(struct srv_codings *codings, const char *header)
{
    const char *rest = header;
    const char *end = header + strlen(header);
    struct span element;
    struct span name;
    int quality;

    codings->said = true;
    while (next_element(&rest, end, ',', &element)) {
        if (!split_quality(element, &name, &quality))
            continue;
        if (srv_token_is(name.at, name.n, "*"))
            codings->any = quality;
        else if (srv_token_is(name.at, name.n, "x-gzip"))
            codings->quality[SRV_GZIP] = quality;
        for (int i = 0; i < SRV_N_CODINGS; i++) {
            const char *ours = srv_coding_name((enum srv_coding)i);

            if (srv_token_is(name.at, name.n, ours))
                codings->quality[i] = quality;
        }
    }
}

/* In thousandths. The answer as it is may be sent unless that is excluded, but
 * only as the last resort when other codings are asked for. */
static int quality_of(const struct srv_codings *codings, enum srv_coding coding)
{
    if (codings->quality[coding] >= 0)
        return codings->quality[coding];
    if (coding == SRV_IDENTITY)
        return codings->any == 0 ? 0 : 1;
    return codings->any < 0 ? 0 : codings->any;
}

enum srv_coding srv_codings_best(const struct srv_codings *codings,
                                 size_t n_bytes)
{
    enum srv_coding best = SRV_N_CODINGS;
    int most = 0;

    if (!codings->said || (n_bytes < SRV_ENCODE_LEAST_BYTES &&
                           quality_of(codings, SRV_IDENTITY) > 0))
        return SRV_IDENTITY;
    for (int i = SRV_N_CODINGS - 1; i >= 0; i--) {
        const int quality = quality_of(codings, (enum srv_coding)i);

        if (quality > most) {
            most = quality;
            best = (enum srv_coding)i;
        }
    }
    return best;
}

const char *srv_etag_suffix(enum srv_coding coding)
{
    static const char *const suffixes[SRV_N_CODINGS] = {"", "-gzip", "-zstd"};

    return suffixes[coding];
}

/* Whether a tag without its quotes is `etag` with one of our suffixes. */
static bool is_tag_of(struct span tag, const char *etag)
{
    const size_t n_etag = strlen(etag);

    if (tag.n < n_etag || memcmp(tag.at, etag, n_etag) != 0)
        return false;
    for (int i = 0; i < SRV_N_CODINGS; i++) {
        const char *suffix = srv_etag_suffix((enum srv_coding)i);

        if (tag.n - n_etag == strlen(suffix) &&
            memcmp(tag.at + n_etag, suffix, tag.n - n_etag) == 0)
            return true;
    }
    return false;
}

bool srv_etag_matches(const char *header, const char *etag)
{
    const char *rest = header;
    const char *end = header + strlen(header);
    struct span tag;

    if (*etag == '\0')
        return false;
    while (next_element(&rest, end, ',', &tag)) {
        if (tag.n == 1 && *tag.at == '*')
            return true;
        if (tag.n > 2 && memcmp(tag.at, "W/", 2) == 0)
            tag = (struct span){tag.at + 2, tag.n - 2};
        if (tag.n < 2 || tag.at[0] != '"' || tag.at[tag.n - 1] != '"')
            continue;
        if (is_tag_of((struct span){tag.at + 1, tag.n - 2}, etag))
            return true;
    }
    return false;
}

/* ---- Prefer ------------------------------------------------------------ */

/* Whole seconds, cut at the longest wait; false when it is no number. */
static bool parse_wait(struct span text, unsigned *wait_s)
{
    unsigned sum = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        sum = sum * 10 + (unsigned)(text.at[i] - '0');
        if (sum > WAIT_MAX_S)
            sum = WAIT_MAX_S; /* and stays there: 60 * 10 is cut again */
    }
    *wait_s = sum;
    return text.n > 0;
}

void srv_prefer_add(struct srv_prefer *prefer, const char *header)
{
    const char *rest = header;
    const char *end = header + strlen(header);
    struct span element;

    while (next_element(&rest, end, ',', &element)) {
        const char *inner = element.at;
        struct span pair;
        struct span name;
        struct span value;

        if (!next_element(&inner, element.at + element.n, ';', &pair))
            continue;
        split_pair(pair, &name, &value);
        /* The first of a preference counts (RFC 7240, 2). */
        if (srv_token_is(name.at, name.n, "respond-async"))
            prefer->respond_async = true;
        else if (srv_token_is(name.at, name.n, "wait") && !prefer->has_wait)
            prefer->has_wait = parse_wait(value, &prefer->wait_s);
    }
}

/* ---- Content-Type ------------------------------------------------------ */

static bool content_is(const char *header, const char *const *types, size_t n)
{
    const char *rest = header;
    const char *end = header + strlen(header);
    struct span element;
    bool matches = false;

    if (!next_element(&rest, end, ';', &element))
        return false;
    for (size_t i = 0; i < n; i++)
        matches |= srv_token_is(element.at, element.n, types[i]);
    while (matches && next_element(&rest, end, ';', &element)) {
        struct span name;
        struct span value;

        split_pair(element, &name, &value);
        if (srv_token_is(name.at, name.n, "charset") &&
            !srv_token_is(value.at, value.n, "utf-8"))
            return false;
    }
    return matches;
}

bool srv_content_is_json(const char *header)
{
    static const char *const types[] = {"application/json"};

    return content_is(header, types, 1);
}

bool srv_content_is_ndjson(const char *header)
{
    static const char *const types[] = {
        "application/x-ndjson", "application/jsonl", "application/ndjson"};

    return content_is(header, types, sizeof types / sizeof types[0]);
}

/* ---- Priority ---------------------------------------------------------- */

bool srv_priority_is_low(const char *header)
{
    const char *rest = header;
    const char *end = header + strlen(header);
    struct span element;
    bool is_low = false;

    while (next_element(&rest, end, ',', &element)) {
        struct span name;
        struct span value;

        split_pair(element, &name, &value);
        if (srv_token_is(name.at, name.n, "u"))
            is_low = value.n == 1 && *value.at >= '4' && *value.at <= '7';
    }
    return is_low;
}
