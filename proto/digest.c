/*
 * digest.c: canonical request to SHA-256, in pieces.
 */
#include "digest.h"

#include "canon.h"

#include <openssl/evp.h>
#include <string.h>

enum {
    PIECE_BYTES = 1 << 15,
    HASH_BYTES = 32
};

struct filter {
    bool is_enveloped;
    bool keeps_module;
};

/* ---- what is left out of the graph ---- */

/* Depths count from the graph object, 0. */
static bool skip(const char *key, const char *parent, unsigned depth,
                 const void *context)
{
    const struct filter *filter = context;

    if (depth == 0)
        return strcmp(key, "name") == 0 ||
               (!filter->is_enveloped &&
                (strcmp(key, "options") == 0 || strcmp(key, "passes") == 0));
    if (depth == 1)
        return strcmp(key, "name") == 0 && strcmp(parent, "producer") == 0;
    if (depth == 2 && strcmp(parent, "nodes") == 0)
        return strcmp(key, "stack") == 0 ||
               (!filter->keeps_module && strcmp(key, "module") == 0);
    return false;
}

static bool reads_module(json_t *passes)
{
    json_t *pass;
    size_t i;

    json_array_foreach (passes, i, pass) {
        if (json_object_get(pass, "modules") != NULL)
            return true;
    }
    return false;
}

/* ---- effective options ---- */

static const char *const solver_names[] = {
    [REMAT_KNAPSACK_DP] = "dp",
    [REMAT_KNAPSACK_GREEDY] = "greedy",
    [REMAT_KNAPSACK_ILP] = "ilp",
    [REMAT_KNAPSACK_HIRSCHBERG] = "dp_knapsack_sliding_hirschberg"};
static const char *const estimator_names[] = {[REMAT_ESTIMATE_FLOPS] = "flops",
                                              [REMAT_ESTIMATE_TESTING] =
                                                  "testing",
                                              [REMAT_ESTIMATE_GIVEN] = "given"};
static const char *const profile_names[] = {
    [REMAT_PROFILE_PYTORCH] = "pytorch", [REMAT_PROFILE_PLAIN] = "plain"};

/* All options as an object of the session, or NULL. */
static json_t *effective_options(const struct remat_options *o)
{
    json_t *json = json_object();
    int failed = json == NULL;

#define SET(name, value) failed |= json_object_set_new(json, name, value)
#define X(name, value)   SET(#name, json_boolean(o->name));
    REMAT_BOOL_OPTION_MAP(X)
#undef X
    SET("profile", json_string(profile_names[o->profile]));
    SET("max_dist_from_bw", json_integer(o->max_dist_from_bw));
    SET("activation_memory_budget", json_real(o->activation_memory_budget));
    SET("activation_memory_budget_solver",
        json_string(solver_names[o->activation_memory_budget_solver]));
    SET("activation_memory_budget_runtime_estimator",
        json_string(
            estimator_names[o->activation_memory_budget_runtime_estimator]));
    SET("memory_limit_bytes", o->memory_limit_bytes < 0
                                  ? json_null()
                                  : json_integer(o->memory_limit_bytes));
#undef SET
    return failed ? NULL : json;
}

/* ---- hashing ---- */

static bool hash_piece(void *context, struct proto_text *text)
{
    if (text->length < PIECE_BYTES)
        return true;
    if (EVP_DigestUpdate(context, text->bytes, text->length) != 1)
        return false;
    text->length = 0;
    return true;
}

static bool hash_parts(EVP_MD_CTX *hash, struct proto_text *text,
                       const struct proto_parts *parts, json_t *options)
{
    struct filter filter = {parts->is_enveloped, reads_module(parts->passes)};
    struct proto_canon canon = {.text = text,
                                .flush = hash_piece,
                                .context = hash,
                                .skip = skip,
                                .skip_context = &filter};

    if (options == NULL)
        return false;
    proto_text_puts(text, "{\"engine\":\"" PROTO_ENGINE "\",\"graph\":");
    if (!proto_canon_add(&canon, parts->graph, "graph", 0))
        return false;
    canon.skip = NULL;
    proto_text_puts(text, ",\"options\":");
    if (!proto_canon_add(&canon, options, "options", 0))
        return false;
    proto_text_puts(text, ",\"passes\":");
    if (parts->passes == NULL)
        proto_text_puts(text, "[]");
    else if (!proto_canon_add(&canon, parts->passes, "passes", 0))
        return false;
    proto_text_puts(text, "}");
    return !text->failed &&
           EVP_DigestUpdate(hash, text->bytes, text->length) == 1;
}

static void write_hex(const unsigned char *hash, char hex[65])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HASH_BYTES; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }
    hex[64] = '\0';
}

bool proto_digest(struct proto_problem *problem, struct proto_budget *budget,
                  const struct proto_parts *parts,
                  const struct proto_options *options, char hex[65])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    struct proto_text text;
    bool done;

    proto_text_init(&text, budget);
    done = hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1 &&
           hash_parts(hash, &text, parts, effective_options(&options->core)) &&
           EVP_DigestFinal_ex(hash, bytes, NULL) == 1;
    if (done)
        write_hex(bytes, hex);
    proto_text_release(&text);
    EVP_MD_CTX_free(hash);
    return done || proto_decode_no_memory(problem, budget);
}
