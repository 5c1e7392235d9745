/*
 * mincut_is.c: whether a document is PyTorch's min_cut_information, and what
 * becomes of it where something else was expected.
 */
#include "mincut_info.h"

#include "canon.h"
#include "mincut_keys.h"

#include <openssl/evp.h>

bool proto_mincut_is(json_t *body)
{
    static const char *const keys[] = {PROTO_KEY_SIZE,     PROTO_KEY_EDGES,
                                       PROTO_KEY_NODES,    PROTO_KEY_ORDER,
                                       PROTO_KEY_KEPT,     PROTO_KEY_RECOMPUTED,
                                       PROTO_KEY_BYTES,    PROTO_KEY_SHARES,
                                       PROTO_KEY_RUNTIMES, PROTO_KEY_SAVED};

    if (!json_is_object(body) || json_object_get(body, "nodes") != NULL ||
        json_object_get(body, "graph") != NULL)
        return false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_object_get(body, keys[i]) != NULL)
            return true;
    return false;
}

bool proto_mincut_refuse(struct proto_problem *problem)
{
    proto_problem_set(problem, PROTO_INVALID_GRAPH, "",
                      "this is min_cut_information out of PyTorch's structured "
                      "trace: it tells what was decided and has too little in "
                      "it to decide again. Look at it with `remat report FILE` "
                      "or `remat explain FILE`, or send it to POST "
                      "/v1/reports; for a plan, send the graph document that "
                      "the client exports");
    return false;
}

static bool flush(void *context, struct proto_text *text)
{
    if (text->failed ||
        EVP_DigestUpdate(context, text->bytes, text->length) != 1)
        return false;
    text->length = 0;
    return true;
}

static struct proto_place nowhere(void *context, struct proto_place place,
                                  const char *key, size_t position)
{
    (void)context;
    (void)key;
    (void)position;
    return place;
}

static bool keep(void *context, struct proto_place place, const char *key)
{
    (void)context;
    (void)place;
    (void)key;
    return false;
}

bool proto_mincut_digest(json_t *body, struct proto_budget *budget,
                         char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    unsigned char bytes[32];
    struct proto_text text;
    struct proto_canon canon = {.text = &text,
                                .flush = flush,
                                .context = hash,
                                .skip = keep,
                                .enter = nowhere};
    bool done;

    proto_text_init(&text, budget);
    proto_text_puts(&text, PROTO_ENGINE " min_cut_information ");
    done = hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
           proto_canon_add(&canon, body, (struct proto_place){0}) &&
           flush(hash, &text) && EVP_DigestFinal_ex(hash, bytes, NULL) == 1;
    for (size_t i = 0; done && i < sizeof bytes; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[64] = '\0';
    EVP_MD_CTX_free(hash);
    proto_text_release(&text);
    return done;
}
