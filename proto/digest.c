/*
 * digest.c: canonical request to SHA-256, in pieces: once as it is (the
 * digest), and once with numbers for the names of nodes (the structure).
 *
 *   places    what stands where in a graph, and what is left out of it
 *   options   all of them, with their effective values
 *   streams   the two texts that are hashed
 *   digests   the two hashes, and those of requests with other options
 *
 * The second text is a copy of the first but for the names. The decoded graph
 * tells which strings are names and of which node, so that nothing is looked up
 * a second time.
 */
#include "digest.h"

#include "canon.h"
#include "marks.h"

#include <openssl/evp.h>
#include <string.h>

enum {
    PIECE_BYTES = 1 << 13
};

struct stream {
    const struct proto_question *question;
    bool keeps_module;
    EVP_MD_CTX *hash;
    struct proto_text *text;
    /* the same for the structure; NULL: it is not asked for */
    EVP_MD_CTX *structure_hash;
    struct proto_text *structure;
    size_t n_copied; /* of the text, into the structure's */
};

/* ---- places ---- */

enum kind {
    NOWHERE,
    GRAPH,
    PRODUCER,
    NODES,
    NODE,
    NAME,  /* of the node `index` */
    LABEL, /* the target of the placeholder `index` */
    ARGS,  /* what: an array of struct remat_arg */
    ARG,   /* what: a struct remat_arg */
    PASSES,
    PASS
};

static bool skip(void *context, struct proto_place place, const char *key)
{
    const struct stream *s = context;

    switch ((enum kind)place.kind) {
    case GRAPH:
        return strcmp(key, "name") == 0 ||
               (!s->question->parts->is_enveloped &&
                (strcmp(key, "options") == 0 || strcmp(key, "passes") == 0));
    case PRODUCER:
        return strcmp(key, "name") == 0;
    case NODE:
        return (key[0] == 's' && strcmp(key, "stack") == 0) ||
               (key[0] == 'm' && !s->keeps_module &&
                strcmp(key, "module") == 0);
    case NOWHERE:
    case NODES:
    case NAME:
    case LABEL:
    case ARGS:
    case ARG:
    case PASSES:
    case PASS:
        break;
    }
    return false;
}

static struct proto_place enter_graph(const char *key)
{
    if (key != NULL && strcmp(key, "nodes") == 0)
        return (struct proto_place){.kind = NODES};
    if (key != NULL && strcmp(key, "producer") == 0)
        return (struct proto_place){.kind = PRODUCER};
    return (struct proto_place){.kind = NOWHERE};
}

/* A placeholder's label says its role and nothing else, unless it looks like an
 * operator. */
static bool is_label(const struct remat_node_spec *spec)
{
    return spec->op == REMAT_PLACEHOLDER && strchr(spec->target, '.') == NULL &&
           strcmp(spec->target, "getitem") != 0;
}

static struct proto_place enter_node(const struct stream *s, uint32_t node,
                                     const char *key)
{
    const struct remat_node_spec *spec =
        remat_graph_node(s->question->job, node);

    if (key == NULL || strchr("ankt", key[0]) == NULL)
        return (struct proto_place){.kind = NOWHERE}; /* the most */
    if (strcmp(key, "args") == 0)
        return (struct proto_place){.kind = ARGS, .what = spec->args};
    if (strcmp(key, "name") == 0)
        return (struct proto_place){.kind = NAME, .index = node};
    if (strcmp(key, "target") == 0 && is_label(spec))
        return (struct proto_place){.kind = LABEL, .index = node};
    if (strcmp(key, "kwargs") == 0)
        return (struct proto_place){.kind = ARGS, .what = spec->kwargs};
    if (strcmp(key, "alias_of") == 0)
        return (struct proto_place){.kind = NAME, .index = spec->alias_of};
    return (struct proto_place){.kind = NOWHERE};
}

/* A list is itself, a dictionary or slice stands inside of an object. */
static struct proto_place enter_arg(const struct remat_arg *arg,
                                    const char *key, size_t position)
{
    if (arg->kind == REMAT_ARG_LIST && key == NULL)
        return (struct proto_place){.kind = ARG,
                                    .what = &arg->as.items[position]};
    if ((arg->kind == REMAT_ARG_DICT || arg->kind == REMAT_ARG_SLICE) &&
        key != NULL)
        return (struct proto_place){.kind = ARGS, .what = arg->as.items};
    return (struct proto_place){.kind = NOWHERE};
}

static struct proto_place enter(void *context, struct proto_place place,
                                const char *key, size_t position)
{
    const struct remat_arg *args = place.what;

    switch ((enum kind)place.kind) {
    case GRAPH:
        return enter_graph(key);
    case NODES:
        return (struct proto_place){.kind = NODE, .index = (uint32_t)position};
    case NODE:
        return enter_node(context, place.index, key);
    case ARGS:
        return (struct proto_place){.kind = ARG, .what = &args[position]};
    case ARG:
        return enter_arg(args, key, position);
    case NOWHERE:
    case PRODUCER:
    case NAME:
    case LABEL:
    case PASSES:
    case PASS:
        break;
    }
    return (struct proto_place){.kind = NOWHERE};
}

/* ---- options ---- */

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

const char *proto_solver_name(enum remat_knapsack solver)
{
    return solver_names[solver];
}

const char *proto_estimator_name(enum remat_estimator estimator)
{
    return estimator_names[estimator];
}

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

/* ---- streams ---- */

static void copy_until(struct stream *s, size_t end)
{
    proto_text_add(s->structure, s->text->bytes + s->n_copied,
                   end - s->n_copied);
    s->n_copied = s->text->length;
}

/* Puts the number of a name in its place, and of a label the role. */
static void note_string(void *context, struct proto_place place, size_t begin)
{
    struct stream *s = context;
    const struct remat_arg *arg = place.what;
    char mark[PROTO_MARK_BYTES + 1];

    if (s->text->failed)
        return;
    if (place.kind == LABEL) {
        copy_until(s, begin);
        proto_text_format(s->structure, "\xFE%u",
                          remat_graph_role(s->question->job, place.index));
    } else if (place.kind == NAME ||
               (place.kind == ARG && arg->kind == REMAT_ARG_NODE)) {
        copy_until(s, begin);
        proto_mark_name(place.kind == NAME ? place.index : arg->as.node, mark);
        proto_text_puts(s->structure, mark);
    }
}

static bool flush(struct stream *s)
{
    if (s->structure != NULL) {
        copy_until(s, s->text->length);
        if (s->structure->failed ||
            EVP_DigestUpdate(s->structure_hash, s->structure->bytes,
                             s->structure->length) != 1)
            return false;
        s->structure->length = 0;
        s->n_copied = 0;
    }
    if (s->text->failed ||
        EVP_DigestUpdate(s->hash, s->text->bytes, s->text->length) != 1)
        return false;
    s->text->length = 0;
    return true;
}

static bool flush_piece(void *context, struct proto_text *text)
{
    return text->length < PIECE_BYTES || flush(context);
}

static bool add_options(struct proto_text *text,
                        const struct remat_options *options)
{
    struct proto_canon canon = {.text = text};
    json_t *json = effective_options(options);

    if (json == NULL)
        return false;
    proto_text_puts(text, ",\"options\":");
    return proto_canon_add(&canon, json, (struct proto_place){0});
}

static bool add_passes(struct proto_canon *canon, json_t *passes)
{
    struct proto_text *text = canon->text;

    proto_text_puts(text, ",\"passes\":");
    if (passes == NULL)
        proto_text_puts(text, "[]");
    else if (!proto_canon_add(canon, passes,
                              (struct proto_place){.kind = PASSES}))
        return false;
    proto_text_puts(text, "}");
    return !text->failed;
}

static struct proto_place enter_passes(void *context, struct proto_place place,
                                       const char *key, size_t position)
{
    (void)context;
    (void)key;
    (void)position;
    return (struct proto_place){.kind = place.kind == PASSES ? PASS : NOWHERE};
}

static bool keep_all(void *context, struct proto_place place, const char *key)
{
    (void)context;
    (void)place;
    (void)key;
    return false;
}

/* The members of "tags" are names of nodes: add_tags tells their numbers. */
static bool skip_tags(void *context, struct proto_place place, const char *key)
{
    (void)context;
    return place.kind == PASS && strcmp(key, "tags") == 0;
}

static bool hash_graph(struct stream *s)
{
    struct proto_canon canon = {.text = s->text,
                                .flush = flush_piece,
                                .context = s,
                                .skip = skip,
                                .enter = enter,
                                .string =
                                    s->structure == NULL ? NULL : note_string};

    proto_text_puts(s->text, "{\"engine\":\"" PROTO_ENGINE "\",\"graph\":");
    return proto_canon_add(&canon, s->question->parts->graph,
                           (struct proto_place){.kind = GRAPH}) &&
           flush(s);
}

static bool hash_passes(struct stream *s)
{
    json_t *passes = s->question->parts->passes;
    struct proto_canon canon = {
        .text = s->text, .enter = enter_passes, .skip = keep_all};

    if (!add_passes(&canon, passes) ||
        EVP_DigestUpdate(s->hash, s->text->bytes, s->text->length) != 1)
        return false;
    s->text->length = 0;
    if (s->structure == NULL)
        return true;
    canon.text = s->structure;
    canon.skip = skip_tags;
    if (!add_passes(&canon, passes) ||
        EVP_DigestUpdate(s->structure_hash, s->structure->bytes,
                         s->structure->length) != 1)
        return false;
    s->structure->length = 0;
    return true;
}

static bool hash_rest(struct stream *s)
{
    return add_options(s->text, &s->question->options->core) && flush(s) &&
           hash_passes(s);
}

/* ---- what the structure covers beside the request ---- */

/* The tags that a pass sets, by number of node. */
static void add_tags(const struct remat_pass *pass, struct proto_text *text)
{
    for (uint32_t i = 0; i < pass->n_tags; i++) {
        const struct remat_set_tag *set = &pass->tags[i];

        proto_text_format(text, "%u:%d%d%d", set->node, (int)set->tag.policy,
                          set->keeps_region, set->tag.has_region);
        proto_text_int(text, set->tag.region);
        proto_text_puts(text, " ");
    }
    proto_text_puts(text, ";");
}

/* The call, and what names decide apart from where they stand: a literal that
 * is taken for a forgotten reference, an operator to save that is the label of
 * a placeholder. */
static void add_circumstances(const struct proto_question *question,
                              struct proto_text *text)
{
    const struct proto_notes *notes = question->notes;
    const struct proto_passes *passes = question->passes;

    proto_text_format(text, "\n%d %d %d\n", (int)question->call,
                      (int)question->format, (int)question->options->explain);
    proto_text_format(text, "%u %u ", notes->n_unmarked, notes->unmarked);
    if (notes->unmarked_text != NULL)
        proto_text_quote_words(text, notes->unmarked_text);
    for (uint32_t i = 0; i < passes->n; i++) {
        const struct remat_pass *pass = &passes->at[i].core;

        for (uint32_t j = 0; j < pass->n_save; j++)
            proto_text_puts(text, remat_graph_has_target(question->job,
                                                         pass->save[j].target)
                                      ? "1"
                                      : "0");
        if (pass->kind == REMAT_PASS_SET_TAGS)
            add_tags(pass, text);
    }
}

/* A report for people holds the graph's name, and its layout depends on the
 * names of nodes: it is shared by equal requests alone. */
static void add_report(const struct proto_question *question,
                       const char *digest, struct proto_text *text)
{
    proto_text_format(text, "report %d %d %s ", (int)question->call,
                      (int)question->options->explain, digest);
    if (question->name != NULL)
        proto_text_quote_words(text, question->name);
}

static bool finish_structure(struct stream *s, struct proto_names *names)
{
    struct proto_text *text = s->structure;

    if (s->question->format == PROTO_TEXT) {
        if (EVP_DigestInit_ex(s->structure_hash, EVP_sha256(), NULL) != 1)
            return false;
        add_report(s->question, names->digest, text);
    } else {
        add_circumstances(s->question, text);
    }
    return !text->failed &&
           EVP_DigestUpdate(s->structure_hash, text->bytes, text->length) ==
               1 &&
           EVP_DigestFinal_ex(s->structure_hash, names->structure, NULL) == 1;
}

/* ---- digests ---- */

static bool finish_hex(EVP_MD_CTX *hash, char hex[65])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[EVP_MAX_MD_SIZE];

    if (EVP_DigestFinal_ex(hash, bytes, NULL) != 1)
        return false;
    for (size_t i = 0; i < PROTO_STRUCTURE_BYTES; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[64] = '\0';
    return true;
}

/* Sets aside what digests with another budget have in common. */
static bool keep_head(const struct stream *s, struct proto_names *names)
{
    struct proto_canon canon = {
        .text = &names->tail, .enter = enter_passes, .skip = keep_all};

    names->head = EVP_MD_CTX_new();
    return names->head != NULL &&
           EVP_MD_CTX_copy_ex(names->head, s->hash) == 1 &&
           add_passes(&canon, s->question->parts->passes);
}

static bool keeps_head(const struct proto_question *question)
{
    return question->call == PROTO_CALL_WHAT_IF ||
           (question->call == PROTO_CALL_FRONTIER &&
            question->format == PROTO_JSON);
}

static bool hash_all(struct stream *s, struct proto_names *names)
{
    if (EVP_DigestInit_ex(s->hash, EVP_sha256(), NULL) != 1 ||
        (s->structure != NULL &&
         EVP_DigestInit_ex(s->structure_hash, EVP_sha256(), NULL) != 1))
        return false;
    return hash_graph(s) && (!keeps_head(s->question) || keep_head(s, names)) &&
           hash_rest(s) && finish_hex(s->hash, names->digest) &&
           (s->structure == NULL || finish_structure(s, names));
}

void proto_names_init(struct proto_names *names, struct proto_budget *budget)
{
    *names = (struct proto_names){0};
    proto_text_init(&names->tail, budget);
}

void proto_names_release(struct proto_names *names)
{
    EVP_MD_CTX_free(names->head);
    names->head = NULL;
    proto_text_release(&names->tail);
}

bool proto_names_find(struct proto_problem *problem,
                      struct proto_budget *budget,
                      const struct proto_question *question,
                      struct proto_names *names)
{
    struct proto_text text = {.budget = budget};
    struct proto_text structure = {.budget = budget};
    struct stream s = {
        .question = question,
        .keeps_module = proto_passes_read_modules(question->parts->passes),
        .hash = EVP_MD_CTX_new(),
        .text = &text,
        .structure_hash = question->wants_structure ? EVP_MD_CTX_new() : NULL,
        .structure = question->wants_structure ? &structure : NULL};
    bool done;

    done = s.hash != NULL &&
           (!question->wants_structure || s.structure_hash != NULL) &&
           hash_all(&s, names);
    proto_text_release(&text);
    proto_text_release(&structure);
    EVP_MD_CTX_free(s.hash);
    EVP_MD_CTX_free(s.structure_hash);
    return done || proto_decode_no_memory(problem, budget);
}

bool proto_names_digest(const struct proto_names *names,
                        struct proto_budget *budget,
                        const struct remat_options *options, char hex[65])
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    struct proto_text text;
    bool done;

    proto_text_init(&text, budget);
    done = hash != NULL && add_options(&text, options) && !text.failed &&
           EVP_MD_CTX_copy_ex(hash, names->head) == 1 &&
           EVP_DigestUpdate(hash, text.bytes, text.length) == 1 &&
           EVP_DigestUpdate(hash, names->tail.bytes, names->tail.length) == 1 &&
           finish_hex(hash, hex);
    proto_text_release(&text);
    EVP_MD_CTX_free(hash);
    return done;
}

bool proto_names_digest_changed(struct proto_names *names,
                                struct proto_budget *budget,
                                const struct remat_options *options,
                                json_t *passes, char hex[65])
{
    struct proto_canon canon = {
        .text = &names->tail, .enter = enter_passes, .skip = keep_all};

    names->tail.length = 0;
    return add_passes(&canon, passes) &&
           proto_names_digest(names, budget, options, hex);
}

bool proto_names_seal(struct proto_names *names, const char *const *texts,
                      size_t n)
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool done =
        hash != NULL && EVP_DigestInit_ex(hash, EVP_sha256(), NULL) == 1;

    for (size_t i = 0; i < n && done; i++) {
        const char *text = texts[i] == NULL ? "" : texts[i];

        done = EVP_DigestUpdate(hash, text, strlen(text) + 1) == 1;
    }
    done = done && EVP_DigestFinal_ex(hash, names->structure, NULL) == 1;
    EVP_MD_CTX_free(hash);
    return done;
}
