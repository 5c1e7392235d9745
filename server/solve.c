/*
 * solve.c: proto's call, with the cache and the store behind its question
 * whether the answer is known.
 */
#include "solve.h"

#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "count.h"
#include "page.h"
#include "server.h"

/* One call on its way. */
struct work {
    struct srv_job *job;
    const struct srv_document *document;
    struct srv_solution *solution;
    struct srv_key answer_key;
    struct srv_key structure_key;
    bool has_keys;
    struct srv_answer *template; /* held while it is read */
};

static uint64_t now_ns(void *context)
{
    (void)context;
    return srv_now_ns();
}

static int is_cancelled(void *context)
{
    const struct work *work = context;

    return atomic_load_explicit(&work->job->cancelled, memory_order_relaxed);
}

/* A batch counts its lines instead. */
static void progress(void *context, enum proto_phase phase, uint32_t done,
                     uint32_t total)
{
    struct work *work = context;
    struct srv_job *job = work->job;

    atomic_store(&job->progress_phase, phase);
    if (job->call != SRV_CALL_BATCH) {
        atomic_store(&job->progress_done, done);
        atomic_store(&job->progress_total, total);
    }
    atomic_fetch_add(&job->event, 1);
}

/* ---- what is known ----------------------------------------------------- */

/* The answers to these can be told from what their requests ask. */
static bool is_looked_up(enum srv_call call)
{
    return call == SRV_CALL_PLANS || call == SRV_CALL_FRONTIER ||
           call == SRV_CALL_WHAT_IF || call == SRV_CALL_JOB_NODE;
}

/* Of a plan its digest says it. A report in words shows what the digest leaves
 * out, such as the graph's name, and so do answers about more than a graph;
 * their structure covers all of it. */
static void make_etag(const struct srv_document *document, const char *digest,
                      const unsigned char structure[PROTO_STRUCTURE_BYTES],
                      const char *explain, char etag[SRV_ETAG_SIZE])
{
    const bool is_plan = document->call == SRV_CALL_PLANS;
    const bool is_text = document->format == PROTO_TEXT;
    char hex[SRV_DIGEST_SIZE];

    if (is_text || (!is_plan && document->call != SRV_CALL_FRONTIER)) {
        srv_hex(structure, PROTO_STRUCTURE_BYTES, hex);
        digest = hex;
    }
    snprintf(etag, SRV_ETAG_SIZE, "%.64s-%s%s%s%s", digest, explain,
             is_plan ? "" : "-", is_plan ? "" : srv_call_name(document->call),
             is_text ? "-text" : "");
}

/* What is not looked up is named by its bytes. */
static void name_by_bytes(const struct srv_document *document,
                          struct srv_answer *answer)
{
    struct srv_hash *hash = srv_hash_new();
    struct srv_key key;
    char hex[2 * SRV_KEY_BYTES + 1];

    if (hash == NULL)
        return;
    srv_hash_bytes(hash, answer->bytes, answer->length);
    if (srv_hash_end(hash, &key)) {
        srv_hex(key.bytes, sizeof key.bytes, hex);
        snprintf(answer->etag, sizeof answer->etag, "%s-%s", hex,
                 srv_call_name(document->call));
    }
    srv_hash_free(hash);
}

static bool make_keys(struct work *work, const struct proto_identity *identity)
{
    const char *owner = work->job->owner;
    char etag[SRV_ETAG_SIZE];
    struct srv_hash *hash = srv_hash_new();

    if (hash == NULL)
        return false;
    srv_hash_text(hash, "structure");
    srv_hash_text(hash, owner);
    srv_hash_bytes(hash, identity->structure, sizeof identity->structure);
    const bool done = srv_hash_end(hash, &work->structure_key);
    srv_hash_free(hash);
    make_etag(work->document, identity->digest, identity->structure,
              identity->explain, etag);
    return done && srv_answer_key(owner, etag, &work->answer_key);
}

/* The answer itself, from memory or disk. */
static bool find_answer(struct work *work)
{
    struct srv_server *server = work->job->server;
    struct srv_solution *solution = work->solution;

    solution->answer = srv_cache_get(&server->cache, &work->answer_key);
    solution->source = SRV_CACHE_HIT;
    if (solution->answer == NULL &&
        srv_store_get_answer(server->store, &work->answer_key,
                             &solution->answer) == SRV_STORE_OK) {
        solution->source = SRV_CACHE_STORE_HIT;
        srv_cache_put(&server->cache, &work->answer_key, solution->answer);
    }
    return solution->answer != NULL;
}

static enum proto_found look_up(void *context,
                                const struct proto_identity *identity,
                                struct proto_known *known)
{
    struct work *work = context;
    struct srv_server *server = work->job->server;

    work->has_keys = make_keys(work, identity);
    if (!work->has_keys)
        return PROTO_SOLVE;
    if (find_answer(work))
        return PROTO_KNOWN_ANSWER;
    work->template = srv_cache_get(&server->cache, &work->structure_key);
    if (work->template != NULL) {
        known->bytes = work->template->bytes;
        known->length = work->template->length;
        return PROTO_KNOWN_TEMPLATE;
    }
    if (work->document->may_defer &&
        !srv_desk_lead(&server->desk, work->job, &work->structure_key))
        return PROTO_DEFER;
    return PROTO_SOLVE;
}

/* ---- the result -------------------------------------------------------- */

/* Calls that derive have one; of others nothing is asked besides. */
static const struct srv_question *
question_of(const struct srv_document *document)
{
    static const struct srv_question none = {.style = PROTO_REPORT_FILE};

    return document->question != NULL ? document->question : &none;
}

static const char *type_of(const struct srv_document *document)
{
    if (document->call == SRV_CALL_REPORTS ||
        document->call == SRV_CALL_JOB_REPORT ||
        document->call == SRV_CALL_PAGE_JOB)
        return "text/html; charset=utf-8";
    if (document->call ==
        SRV_CALL_JOB_EXPORT) /* made, so there is such a one */
        return proto_export_media_type(question_of(document)->as);
    return document->format == PROTO_TEXT ? "text/plain; charset=utf-8"
                                          : "application/json";
}

static void describe(const struct work *work, struct srv_answer *shared,
                     const struct proto_answer *answer)
{
    const struct srv_document *document = work->document;

    snprintf(shared->type, sizeof shared->type, "%s", type_of(document));
    memcpy(shared->digest, answer->digest, sizeof shared->digest);
    if (answer->outcome != NULL)
        snprintf(shared->outcome, sizeof shared->outcome, "%s",
                 answer->outcome);
    if (is_looked_up(document->call))
        make_etag(document, answer->digest, answer->structure, answer->explain,
                  shared->etag);
    else
        name_by_bytes(document, shared);
}

/* The document becomes an answer that can be shared. */
static void take_answer(struct work *work, struct proto_answer *answer)
{
    struct srv_answer *shared =
        srv_answer_new_take(answer->body, answer->length);

    work->solution->answer = shared;
    if (shared == NULL) {
        proto_problem_set(&work->solution->problem, PROTO_OUT_OF_MEMORY, NULL,
                          "no memory for the answer");
        return;
    }
    answer->body = NULL;
    describe(work, shared, answer);
}

/* For who asks the same, or the same of other names. */
static void keep_answer(struct work *work, struct proto_answer *answer)
{
    struct srv_server *server = work->job->server;
    struct srv_answer *template = NULL;

    if (!work->has_keys || work->solution->answer == NULL)
        return;
    srv_cache_put(&server->cache, &work->answer_key, work->solution->answer);
    srv_store_put_answer(server->store, &work->answer_key,
                         work->solution->answer);
    if (answer->template_bytes == NULL)
        return;
    template =
        srv_answer_new_take(answer->template_bytes, answer->template_length);
    if (template == NULL)
        return;
    answer->template_bytes = NULL;
    srv_cache_put(&server->cache, &work->structure_key, template);
    srv_answer_unref(template);
}

static void take_result(struct work *work, struct proto_answer *answer)
{
    struct srv_solution *solution = work->solution;

    switch (answer->result) {
    case PROTO_PLAN:
    case PROTO_NO_PLAN:
        solution->source =
            answer->is_filled ? SRV_CACHE_MAPPED : SRV_CACHE_MISS;
        take_answer(work, answer);
        keep_answer(work, answer);
        break;
    case PROTO_KNOWN: /* look_up has put it there */
        break;
    case PROTO_DEFERRED:
        solution->is_deferred = true;
        break;
    case PROTO_PROBLEM:
        solution->source = SRV_CACHE_MISS;
        solution->problem = answer->problem;
        break;
    }
    solution->n_nodes = answer->n_nodes;
    solution->n_steps = answer->n_steps;
    solution->memory_bytes = answer->memory_bytes;
    memcpy(solution->phase_ns, answer->phase_ns, sizeof solution->phase_ns);
}

/* ---- the call ----------------------------------------------------------- */

static struct proto_env environment(struct work *work)
{
    const struct srv_config *config = &work->job->server->config;
    struct proto_env env = {
        .now_ns = now_ns,
        .cancelled = is_cancelled,
        .look_up = is_looked_up(work->document->call) ? look_up : NULL,
        .progress = progress,
        .context = work,
        .started_ns = work->job->queued_ns,
    };

    proto_limits_init(&env.limits);
    env.limits.body_bytes = (size_t)config->max_body;
    env.limits.n_nodes = (uint32_t)config->max_nodes;
    env.limits.memory_bytes = (size_t)config->job_memory;
    env.limits.n_steps = config->max_steps;
    return env;
}

static const char *said(const char *value)
{
    return value == NULL || value[0] == '\0' ? NULL : value;
}

static void export(const struct srv_question *question,
                   const struct proto_env *env,
                   const struct proto_request *request,
                   struct proto_answer *answer)
{
    const struct proto_export_params params = {.as = said(question->as),
                                               .around = said(question->node),
                                               .depth = said(question->depth)};

    proto_export(env, request, &params, answer);
}

/* What is around every page goes around the report. */
static void make_page(const struct srv_job *job, const struct proto_env *env,
                      const struct proto_request *request,
                      struct proto_answer *answer)
{
    char *page = NULL;

    proto_report(env, request, PROTO_REPORT_FRAGMENT, answer);
    if (answer->body == NULL)
        return;
    page = srv_page_report(job->server, job->about_id, answer->body,
                           &answer->length);
    proto_free(answer->body);
    answer->body = page;
    if (page != NULL)
        return;
    answer->result = PROTO_PROBLEM;
    proto_problem_set(&answer->problem, PROTO_OUT_OF_MEMORY, NULL,
                      "no memory for the page");
}

static void ask(const struct srv_job *job, const struct srv_document *document,
                const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    const struct srv_question *question = question_of(document);
    const enum srv_call call = document->call;

    if (call == SRV_CALL_FRONTIER)
        proto_frontier(env, request, answer);
    else if (call == SRV_CALL_WHAT_IF)
        proto_what_if(env, request, answer);
    else if (call == SRV_CALL_JOB_NODE)
        proto_node(env, request, question->node, answer);
    else if (call == SRV_CALL_JOB_EXPORT)
        export(question, env, request, answer);
    else if (call == SRV_CALL_REPORTS)
        proto_report(env, request, PROTO_REPORT_FILE, answer);
    else if (call == SRV_CALL_JOB_REPORT)
        proto_report(env, request, question->style, answer);
    else if (call == SRV_CALL_PAGE_JOB)
        make_page(job, env, request, answer);
    else
        proto_plan(env, request, answer);
}

void srv_solve(struct srv_job *job, const struct srv_document *document,
               struct srv_solution *solution)
{
    struct work work = {.job = job, .document = document, .solution = solution};
    const struct proto_env env = environment(&work);
    const struct proto_request request = {
        .body = document->bytes == NULL ? "" : document->bytes,
        .length = document->length,
        .format = document->format,
        .is_of_job =
            document->call == SRV_CALL_WHAT_IF || document->question != NULL,
        .wants_frontier = question_of(document)->is_about_frontier,
    };
    struct proto_answer answer;

    *solution = (struct srv_solution){.source = SRV_CACHE_MISS};
    ask(job, document, &env, &request, &answer);
    take_result(&work, &answer);
    if (!solution->is_deferred)
        srv_count_solution(job->server, solution, answer.saved_bytes);
    proto_answer_release(&answer);
    srv_answer_unref(work.template);
}
