/*
 * rank.c: one rank's request, from bytes to what can wait for the others.
 */
#include "rank.h"

#include "canon.h"
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the two members of a group request --------------------------------- */

/* A member of the body that has to be there. */
struct member {
    const char *key;
    const char *what;
    int64_t least;
    int64_t most;
};

static bool take_number(json_t *body, const struct member *m, uint32_t *number,
                        struct proto_problem *problem)
{
    struct proto_path root = {0};
    struct proto_path path = proto_path_key(&root, m->key);
    json_t *member = json_object_get(body, m->key);

    if (member == NULL)
        return proto_decode_fail(problem, PROTO_INVALID_GRAPH, &path,
                                 "a request to a group needs \"%s\": %s",
                                 m->key, m->what);
    if (!json_is_integer(member) || json_integer_value(member) < m->least ||
        json_integer_value(member) > m->most)
        return proto_decode_fail(problem, PROTO_INVALID_GRAPH, &path,
                                 "\"%s\" is %s, an integer from %" PRId64
                                 " to %" PRId64,
                                 m->key, m->what, m->least, m->most);
    *number = (uint32_t)json_integer_value(member);
    json_object_del(body, m->key);
    return true;
}

bool proto_rank_take_members(json_t *body, struct proto_problem *problem,
                             struct proto_rank *rank)
{
    const struct member world = {"world_size", "the number of ranks", 1,
                                 PROTO_MOST_RANKS};
    struct member own = {"rank", "the sender's number", 0, 0};

    if (!json_is_object(body))
        return true; /* the decoder says what is wrong */
    if (!take_number(body, &world, &rank->world_size, problem))
        return false;
    own.most = (int64_t)rank->world_size - 1;
    return take_number(body, &own, &rank->rank, problem);
}

/* ---- a document --------------------------------------------------------- */

static void *take(struct proto_rank_document *d, size_t n, size_t size)
{
    size_t n_bytes;

    if (__builtin_mul_overflow(n, size, &n_bytes))
        return NULL;
    return proto_budget_allocate(&d->budget, n_bytes == 0 ? 1 : n_bytes);
}

void proto_rank_document_free(struct proto_rank_document *d)
{
    if (d == NULL)
        return;
    free(d->body);
    free(d->passes);
    free(d->tags);
    free(d->handed_over);
    free(d->bytes);
    proto_free(d->answer);
    free(d);
}

const char *proto_rank_document_name(const struct proto_rank_document *d)
{
    return d->name;
}

size_t proto_rank_document_bytes(const struct proto_rank_document *d)
{
    return sizeof(*d) + d->budget.used_bytes + d->answer_length;
}

static struct proto_rank_document *
new_document(const struct proto_request *request, struct proto_problem *problem)
{
    struct proto_budget budget = {0};
    struct proto_rank_document *d =
        proto_budget_may_allocate(&budget) ? calloc(1, sizeof(*d)) : NULL;

    if (d != NULL) {
        d->body = take(d, request->length, 1);
        d->body_length = request->length;
    }
    if (d == NULL || d->body == NULL) {
        proto_decode_no_memory(problem, &budget);
        proto_rank_document_free(d);
        return NULL;
    }
    if (request->length > 0)
        memcpy(d->body, request->body, request->length);
    return d;
}

/* ---- opening ------------------------------------------------------------ */

struct opening {
    const struct proto_rank_finder *finder;
    struct proto_rank *rank;
    struct proto_rank_document *document;
    struct proto_rank_document *found;
    bool is_known;
};

/* Passes as JSON, but with no tags in set_tags: these name nodes, which have
 * other names on other ranks. A new reference; NULL without memory. */
static json_t *without_tags(json_t *passes)
{
    json_t *plain = json_array();
    json_t *pass;
    size_t i;

    json_array_foreach (passes, i, pass) {
        json_t *copy = json_object_get(pass, "tags") == NULL ? json_incref(pass)
                                                             : json_copy(pass);

        if (copy != NULL && copy != pass)
            json_object_del(copy, "tags");
        if (json_array_append_new(plain, copy) != 0) {
            json_decref(plain);
            return NULL;
        }
    }
    return plain;
}

static bool keep_passes(struct proto_rank_document *d, json_t *passes,
                        struct proto_problem *problem)
{
    json_t *plain = without_tags(passes);
    struct proto_text text;
    struct proto_canon canon = {.text = &text};

    d->with_modules = proto_passes_read_modules(passes);
    if (plain == NULL)
        return proto_decode_no_memory(problem, &d->budget);
    proto_text_init(&text, NULL);
    proto_canon_add(&canon, plain, (struct proto_place){0});
    json_decref(plain);
    d->passes = proto_text_take(&text, &d->passes_bytes);
    if (d->passes == NULL)
        return proto_decode_no_memory(problem, &d->budget);
    d->budget.used_bytes += d->passes_bytes;
    return true;
}

static bool on_parsed(void *context, json_t *body,
                      struct proto_problem *problem)
{
    struct opening *o = context;

    return proto_rank_take_members(body, problem, o->rank) &&
           keep_passes(o->document, json_object_get(body, "passes"), problem);
}

static void name_document(struct proto_rank_document *d,
                          const struct proto_asked *asked)
{
    d->options = *asked->options;
    snprintf(d->digest, sizeof(d->digest), "%s", asked->digest);
    snprintf(d->name, sizeof(d->name), "%s-%s", asked->digest,
             proto_explain_name(asked->options->explain));
}

/* What a saved value adds to saved_bytes. Symbols, opaque objects and script
 * objects are passed on in other lists, or in none. */
static int64_t bytes_when_saved(const struct remat_job *job, remat_node v)
{
    const struct remat_node_spec *spec = remat_graph_node(job, v);
    int64_t n_bytes = remat_node_bytes(job, v);

    if (spec->value.kind == REMAT_VALUE_SYM_INT ||
        spec->value.kind == REMAT_VALUE_SYM_FLOAT ||
        spec->value.kind == REMAT_VALUE_SYM_BOOL || spec->opaque ||
        (spec->value.kind == REMAT_VALUE_OPAQUE &&
         strcmp(spec->value.type_name, "FakeScriptObject") == 0))
        return 0;
    return n_bytes > 0 ? n_bytes : 0;
}

static int compare_places(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

struct placed_tag {
    uint32_t place;
    const struct remat_set_tag *set;
};

static int compare_placed(const void *a, const void *b)
{
    return compare_places(&((const struct placed_tag *)a)->place,
                          &((const struct placed_tag *)b)->place);
}

static void write_tags(struct proto_text *text, struct placed_tag *tags,
                       uint32_t n)
{
    if (n > 0)
        qsort(tags, n, sizeof(*tags), compare_placed);
    for (uint32_t i = 0; i < n; i++) {
        const struct remat_set_tag *set = tags[i].set;

        proto_text_format(text, "%" PRIu32 ":%d,%d,", tags[i].place,
                          (int)set->tag.policy, set->keeps_region);
        if (set->tag.has_region)
            proto_text_format(text, "%" PRId64, set->tag.region);
        proto_text_puts(text, " ");
    }
    proto_text_puts(text, ";");
}

/* What the passes set_tags give to which place. */
static enum remat_status keep_tags(struct proto_rank_document *d,
                                   const struct proto_passes *passes,
                                   const struct remat_structure *structure)
{
    struct proto_text text;

    proto_text_init(&text, NULL);
    for (uint32_t i = 0; i < passes->n; i++) {
        const struct remat_pass *pass = &passes->at[i].core;
        const size_t n_bytes = (pass->n_tags + 1) * sizeof(struct placed_tag);
        struct placed_tag *tags = proto_budget_allocate(&d->budget, n_bytes);

        if (tags == NULL) {
            proto_text_release(&text);
            return REMAT_E_NOMEM;
        }
        for (uint32_t k = 0; k < pass->n_tags; k++)
            tags[k] = (struct placed_tag){structure->place[pass->tags[k].node],
                                          &pass->tags[k]};
        write_tags(&text, tags, pass->n_tags);
        proto_budget_release(&d->budget, tags, n_bytes);
    }
    d->tags = proto_text_take(&text, &d->tags_bytes);
    if (d->tags == NULL)
        return REMAT_E_NOMEM;
    d->budget.used_bytes += d->tags_bytes;
    return REMAT_OK;
}

static enum remat_status keep_decision(struct proto_rank_document *d,
                                       const struct proto_asked *asked,
                                       const struct remat_structure *structure,
                                       const struct remat_plan *plan)
{
    uint32_t n = remat_graph_n_nodes(asked->job);

    d->n_nodes = n;
    d->limit = plan->limit;
    d->saved_bytes = plan->saved_bytes;
    d->n_handed_over = plan->handed_over.n;
    d->bytes = take(d, n, sizeof(*d->bytes));
    d->handed_over = take(d, d->n_handed_over, sizeof(*d->handed_over));
    if (d->bytes == NULL || d->handed_over == NULL)
        return REMAT_E_NOMEM;
    for (uint32_t i = 0; i < n; i++)
        d->bytes[i] = bytes_when_saved(asked->job, structure->order[i]);
    for (uint32_t i = 0; i < d->n_handed_over; i++)
        d->handed_over[i] = structure->place[plan->handed_over.at[i]];
    qsort(d->handed_over, d->n_handed_over, sizeof(*d->handed_over),
          compare_places);
    memcpy(d->print, structure->print, sizeof(d->print));
    return keep_tags(d, asked->passes, structure);
}

static enum remat_status on_solve(void *context,
                                  const struct proto_asked *asked,
                                  const struct remat_plan **plan,
                                  struct remat_error *err)
{
    struct opening *o = context;
    struct proto_rank_document *d = o->document;
    struct remat_structure structure;
    enum remat_status status;

    name_document(d, asked);
    o->is_known = o->finder != NULL &&
                  o->finder->find(o->finder->context, d->name, o->rank,
                                  &o->found) == PROTO_KNOWN_ANSWER;
    if (o->is_known)
        return REMAT_E_STOPPED; /* solved before */
    status = remat_structure_find(asked->job, d->with_modules, &structure, err);
    if (status == REMAT_OK)
        status = remat_plan_solve(asked->job, &asked->options->core, plan, err);
    if (status == REMAT_OK)
        status = keep_decision(d, asked, &structure, *plan);
    return status;
}

/* The document takes the body over. */
static void keep_answer(struct proto_rank_document *d,
                        struct proto_answer *answer)
{
    d->result = answer->result;
    d->outcome = answer->outcome;
    d->answer = answer->body;
    d->answer_length = answer->length;
    answer->body = NULL;
    answer->length = 0;
}

void proto_rank_open(const struct proto_env *env,
                     const struct proto_request *request,
                     const struct proto_rank_finder *finder,
                     struct proto_rank *rank, struct proto_answer *answer)
{
    struct opening o = {.finder = finder, .rank = rank};
    const struct proto_hooks hooks = {
        .parsed = on_parsed, .solve = on_solve, .context = &o};
    struct proto_request plain = *request;
    struct proto_env unaided = *env;

    *rank = (struct proto_rank){.rank = 0};
    *answer = (struct proto_answer){.result = PROTO_PROBLEM};
    plain.format = PROTO_JSON;
    plain.options = NULL;
    plain.passes = NULL;
    o.document = new_document(request, &answer->problem);
    if (o.document == NULL)
        return;
    unaided.look_up = NULL; /* the decision itself is wanted */
    proto_plan_hooked(&unaided, &plain, &hooks, answer);
    if (o.is_known) {
        answer->problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
        answer->result = PROTO_KNOWN;
        rank->document = o.found;
    } else if (answer->result != PROTO_PROBLEM) {
        keep_answer(o.document, answer);
        rank->document = o.document;
        o.document = NULL;
    }
    proto_rank_document_free(o.document);
}
