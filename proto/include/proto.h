/*
 * proto.h: documents in, documents out. Knows JSON (jansson) and core.
 *
 * The format of both documents is described by proto/schema. proto has no
 * clock and no I/O: what it needs of either comes through struct proto_env.
 *
 * Threads: call proto_start once before any thread exists; afterwards every
 * function may be called from any thread at the same time.
 */
#ifndef PROTO_H
#define PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTO_ENGINE                                   \
    "rematd/0.3.0" /* goes into digests: any change of \
                      behaviour changes it */

struct proto_limits {
    size_t body_bytes;   /* of one document */
    unsigned depth;      /* of nested lists and objects; at most 64 */
    uint32_t n_nodes;    /* of a graph */
    size_t memory_bytes; /* JSON tree, graph and solver together */
    uint64_t n_steps;    /* of the solver; 0: no limit */
};
void proto_limits_init(struct proto_limits *limits); /* the defaults */

/* Where the time went, in order. The first and last are proto's own, the others
 * core's phases. */
enum proto_phase {
    PROTO_PHASE_DECODE,
    PROTO_PHASE_CLASSIFY,
    PROTO_PHASE_NETWORK,
    PROTO_PHASE_FLOW,
    PROTO_PHASE_EXTRACT,
    PROTO_PHASE_VERIFY,
    PROTO_PHASE_ENCODE,
    PROTO_N_PHASES
};
const char *proto_phase_name(enum proto_phase phase);

/* ---- answers that are known ---- */

enum proto_format {
    PROTO_JSON,
    PROTO_TEXT,
    PROTO_HTML /* of proto_report alone */
};
enum proto_call {
    PROTO_CALL_PLAN,
    PROTO_CALL_FRONTIER,
    PROTO_CALL_TAGS,
    PROTO_CALL_NODE,
    PROTO_CALL_REPORT,
    PROTO_CALL_WHAT_IF,
    PROTO_CALL_DIFF /* never looked up */
};

enum {
    PROTO_STRUCTURE_BYTES = 32
};

/* What a request asks, as soon as it is decoded. The answer's bytes are a
 * function of call, format, explain and either digest (of a report, PROTO_TEXT,
 * with the graph's name; of a node with its name; of a what-if with the digest
 * of what it is compared with) or structure and the names of the nodes. */
struct proto_identity {
    const char *digest; /* as in struct proto_answer; of call and explain it
                           says nothing */
    /* SHA-256, equal for requests that differ in nothing but the names of
     * nodes; covers call, format and explain. A report, and the answers of
     * PROTO_CALL_NODE and PROTO_CALL_WHAT_IF, are not shared between names:
     * there it is equal for equal answers alone, and the digest says less. */
    unsigned char structure[PROTO_STRUCTURE_BYTES];
    const char *explain; /* "none", "summary" or "full" */
    enum proto_call call;
    enum proto_format format;
};

enum proto_found {
    PROTO_SOLVE,          /* nothing is known: go on */
    PROTO_KNOWN_ANSWER,   /* the caller has the answer: stop, PROTO_KNOWN */
    PROTO_KNOWN_TEMPLATE, /* `known` holds the template of an answer with this
                             structure: the answer is made from it */
    PROTO_DEFER           /* somebody is at it: stop, PROTO_DEFERRED */
};

/* Read until proto_plan or proto_frontier returns. What is no template for this
 * request, whatever its bytes are, is passed over: the request is solved. */
struct proto_known {
    const char *bytes;
    size_t length;
};

struct proto_env {
    struct proto_limits limits;
    /* Monotonic nanoseconds; NULL: no timings and no deadline_ms. */
    uint64_t (*now_ns)(void *context);
    /* Non-zero: give up (504). May be NULL. Polled while solving. */
    int (*cancelled)(void *context);
    /* Called once by proto_plan and proto_frontier, when a request is decoded,
     * before passes and solver; not for a request with a problem. The identity
     * is the call's own. May be NULL. */
    enum proto_found (*look_up)(void *context,
                                const struct proto_identity *identity,
                                struct proto_known *known);
    /* Told of phases and, while solving, of parts done: minimum cuts, points of
     * the frontier, steps under a memory limit; total 0: not known. Fewer than
     * a thousand calls a request. May be NULL. */
    void (*progress)(void *context, enum proto_phase phase, uint32_t done,
                     uint32_t total);
    void *context;
    uint64_t started_ns; /* what deadline_ms counts from; 0: from the call */
};

/* X(enumerator, code, HTTP status, title). The one list of stable codes. */
#define PROTO_PROBLEM_MAP(X)                                                   \
    X(PROTO_NO_PROBLEM, "ok", 200, "OK")                                       \
    X(PROTO_MALFORMED_JSON, "malformed-json", 400, "Not a JSON document")      \
    X(PROTO_BAD_REQUEST, "bad-request", 400, "Malformed request")              \
    X(PROTO_UNAUTHORIZED, "unauthorized", 401, "Unauthorized")                 \
    X(PROTO_FORBIDDEN, "forbidden", 403, "Forbidden")                          \
    X(PROTO_NOT_FOUND, "not-found", 404, "No such resource")                   \
    X(PROTO_METHOD_NOT_ALLOWED, "method-not-allowed", 405,                     \
      "Method not allowed")                                                    \
    X(PROTO_NOT_ACCEPTABLE, "not-acceptable", 406, "Not acceptable")           \
    X(PROTO_SLOW_REQUEST, "slow-request", 408, "The request took too long")    \
    X(PROTO_CANCELED, "canceled", 409, "The job was cancelled")                \
    X(PROTO_RANKS_DISAGREE, "ranks-disagree", 409, "The ranks disagree")       \
    X(PROTO_GONE, "gone", 410, "No longer kept")                               \
    X(PROTO_LENGTH_REQUIRED, "length-required", 411, "Length required")        \
    X(PROTO_TOO_LARGE, "too-large", 413, "Too large")                          \
    X(PROTO_UNSUPPORTED_MEDIA, "unsupported-media-type", 415,                  \
      "Unsupported media type")                                                \
    X(PROTO_INVALID_GRAPH, "invalid-graph", 422, "Not a valid graph document") \
    X(PROTO_UNKNOWN_SCHEMA, "unknown-schema", 422, "Unknown schema")           \
    X(PROTO_SIZE_UNKNOWN, "size-unknown", 422, "A needed size is unknown")     \
    X(PROTO_UNKNOWN_OPTION, "unknown-option", 422, "Unknown option or value")  \
    X(PROTO_UNKNOWN_PASS, "unknown-pass", 422, "Unknown pass")                 \
    X(PROTO_RATE_LIMITED, "rate-limited", 429, "Too many requests")            \
    X(PROTO_CRASHED, "crashed", 500, "The job crashed the server")             \
    X(PROTO_INTERNAL, "internal-error", 500, "Internal error")                 \
    X(PROTO_NOT_IMPLEMENTED, "not-implemented", 501, "Not implemented")        \
    X(PROTO_OUT_OF_MEMORY, "out-of-memory", 503, "Out of memory")              \
    X(PROTO_QUEUE_FULL, "queue-full", 503, "The queue is full")                \
    X(PROTO_DRAINING, "draining", 503, "Shutting down")                        \
    X(PROTO_NOT_READY, "not-ready", 503, "Not ready")                          \
    X(PROTO_STORE, "store-unavailable", 503, "The store is unavailable")       \
    X(PROTO_RANK_MISSING, "rank-missing", 504, "A rank is missing")            \
    X(PROTO_DEADLINE, "deadline-exceeded", 504, "Deadline exceeded")           \
    X(PROTO_STEP_LIMIT, "step-limit", 504, "Step limit reached")               \
    X(PROTO_DISK_FULL, "disk-full", 507, "The disk is full")

enum proto_problem_kind {
#define X(name, code, status, title) name,
    PROTO_PROBLEM_MAP(X)
#undef X
};
const char *proto_problem_code(enum proto_problem_kind kind);
const char *proto_problem_title(enum proto_problem_kind kind);
int proto_problem_status(enum proto_problem_kind kind);

/* A problem in the making: fixed size, no ownership. The first one set wins. */
struct proto_problem {
    enum proto_problem_kind kind;
    char pointer[256]; /* JSON Pointer into the document, "" for none or root */
    bool has_pointer;
    char detail[896]; /* what is wrong and what to write instead */
};
/* printf-style; `pointer` NULL for none. Keeps the first. */
void proto_problem_set(struct proto_problem *problem,
                       enum proto_problem_kind kind, const char *pointer,
                       const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The application/problem+json document (RFC 9457), newline at the end. The
 * caller frees it with proto_free. NULL when there is no memory. request_id may
 * be NULL. */
char *proto_problem_encode(const struct proto_problem *problem,
                           const char *request_id);

enum proto_result {
    PROTO_PLAN,    /* a plan: body holds it */
    PROTO_NO_PLAN, /* infinite_flow or invalid_output: body explains */
    PROTO_PROBLEM, /* problem says why; body is NULL */
    PROTO_KNOWN,   /* look_up said PROTO_KNOWN_ANSWER; body is NULL */
    PROTO_DEFERRED /* look_up said PROTO_DEFER; body is NULL */
};

struct proto_answer {
    enum proto_result result;
    struct proto_problem problem;
    char *body; /* NUL-terminated, newline at the end; proto_answer_release */
    size_t length;
    char *remarks; /* of proto_tags: a line for each diagnostic of a pass, or
                      NULL; proto_answer_release */
    /* What look_up may hand out for requests with this structure; NULL for a
     * report and without look_up. Bytes, no text; proto_answer_release. */
    char *template_bytes;
    size_t template_length;
    bool is_filled;  /* body was made from a known template */
    char digest[65]; /* lower-case hex SHA-256 of the canonical request */
    unsigned char structure[PROTO_STRUCTURE_BYTES]; /* zero without look_up */
    const char *explain; /* "none", "summary", "full"; NULL: not decoded */
    const char *outcome; /* "plan", "infinite_flow", "invalid_output" or NULL */
    uint32_t n_nodes;    /* of the graph, 0 when it was not read */
    uint64_t n_steps;    /* the solver's effort */
    uint64_t saved_bytes; /* of a plan that was solved for it, else 0 */
    size_t memory_bytes;  /* peak of tree, graph and solver */
    uint64_t phase_ns[PROTO_N_PHASES]; /* zero without a clock */
};

/* A plan request. `body` is a graph document, optionally with "options" and
 * "passes" beside its fields, or {"graph":…,"options":…,"passes":…}.
 * `options` and `passes` (JSON text, NULL for none) are laid over those of the
 * body, member by member and as a whole: the command line's flags. With
 * `is_of_job` it may be any body that a job has: one with "rank" and
 * "world_size", or a what-if's, which is read as the plan request that asks for
 * the same. So may then the "base" of a what-if be. */
struct proto_request {
    const char *body;
    size_t length;
    const char *options;
    const char *passes;
    enum proto_format format;
    bool is_of_job;
    bool wants_frontier; /* of proto_report alone */
};

/* Once, before threads: jansson's allocation hook and hash seed. */
void proto_start(void);
/* Decode, solve, verify, encode. Never fails otherwise than by a problem in the
 * answer. The same request gives the same bytes. Release the answer. */
void proto_plan(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer);
/* The same for the trade of saved bytes against recomputed FLOPs: the document
 * remat/frontier/v1. */
void proto_frontier(const struct proto_env *env,
                    const struct proto_request *request,
                    struct proto_answer *answer);
/* Decode, apply the passes, encode: {"tags":{node:[policy, region or null]}}
 * for every tagged node. Options are checked and do nothing. The result is
 * PROTO_PLAN or PROTO_PROBLEM. */
void proto_tags(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer);
/* What a node is to the decision, why it is where it is, and what it would
 * change to save it or to compute it again: the document remat/node/v1, or in
 * words. PROTO_NOT_FOUND when the graph has no node of that name, with the
 * nearest. The answer's digest is the request's. Solves up to three plans of
 * one decoded graph, all within env's limits. */
void proto_node(const struct proto_env *env,
                const struct proto_request *request, const char *name,
                struct proto_answer *answer);
/* A request with some tags and options changed, and what moves: the document
 * remat/what-if/v1, or in words. The body is {"base": a plan request,
 * "what_if":
 * {"tags": as of the pass set_tags, "options": {...}}}, each of both optional;
 * request->options and passes are laid over those of "base". Result and outcome
 * are the changed request's, and the answer's digest too: with it the plan can
 * be asked for again, as base with the pass appended and the options laid over.
 * JSON Pointers lead into the body. Solves two plans of one decoded graph. */
void proto_what_if(const struct proto_env *env,
                   const struct proto_request *request,
                   struct proto_answer *answer);
/* What two plan requests decide differently: the document remat/diff/v1, or in
 * words. Nodes are matched by name; what one graph alone has is listed. Nothing
 * is looked up. The result is PROTO_PLAN when both have a plan, PROTO_NO_PLAN
 * when one has none (`outcome` is the second's then, or the first's). A problem
 * says in answer->problem of which it is: "first: " or "second: ". The limits
 * are for each of them. */
void proto_diff(const struct proto_env *env, const struct proto_request *before,
                const struct proto_request *after, struct proto_answer *answer);

/* ---- the report as a page ---- */

enum proto_report_style {
    PROTO_REPORT_FILE,    /* a whole HTML document with style, script and data
                             inside: asks nothing of any server */
    PROTO_REPORT_FRAGMENT /* <main id="report"> alone, for a page that links the
                             assets: no style, no executable script */
};

/* The report of a plan request as HTML, also of a graph without a plan.
 * request->format and is_of_job are not read: any body that a job has will do,
 * PyTorch's min_cut_information too, and of a what-if the page also shows what
 * the changes do. env->look_up is not asked: a report shows what no
 * digest covers (modules, stacks). A pure function of request and style. Costs
 * a plan, the frontier of a graph of up to 6,000 nodes, or 32,000 when it
 * `wants_frontier`, and O(nodes + references); what is shown is bounded, the
 * largest first. */
void proto_report(const struct proto_env *env,
                  const struct proto_request *request,
                  enum proto_report_style style, struct proto_answer *answer);

/* A file that a report's page needs; static, from proto/pages. */
struct proto_asset {
    const char *name; /* "report.css" */
    const char *type; /* of media */
    const char *bytes;
    size_t length;
};
/* All of them, styles before scripts, in the order to load them. */
const struct proto_asset *proto_assets(size_t *n);

void proto_answer_release(struct proto_answer *answer);
void proto_free(char *text);

/* The body of a what-if request, {"base":...,"what_if":...}: what another
 * request asked, and what is to be different. The parts are JSON texts. */
struct proto_what_if_parts {
    const char *base; /* a request, or a what-if's own body */
    size_t base_length;
    const char *what_if; /* {"tags":{...},"options":{...}} */
    size_t what_if_length;
};
/* Joins the parts; *body is NUL-terminated, of *length bytes, and the caller's:
 * free it. False and a problem when `what_if` is no JSON object (its pointer
 * leads into that text), when `base` is none, or without memory. What the
 * members mean is left to who reads the body. O(bytes). */
bool proto_what_if_body(const struct proto_limits *limits,
                        const struct proto_what_if_parts *parts, char **body,
                        size_t *length, struct proto_problem *problem);

/* For people, on a terminal, whatever request->format says: of a plan request
 * the report of proto_plan; of PyTorch's min_cut_information, which no other
 * call but proto_report takes, what it tells (PROTO_PLAN). Does not look up. */
void proto_explain(const struct proto_env *env,
                   const struct proto_request *request,
                   struct proto_answer *answer);

/* ---- networks and traces for other tools -------------------------------- */

/* X(enumerator, word, media type) */
#define PROTO_EXPORT_MAP(X)                                            \
    X(PROTO_EXPORT_MIN_CUT, "min-cut-information", "application/json") \
    X(PROTO_EXPORT_DOT, "dot", "text/vnd.graphviz; charset=utf-8")     \
    X(PROTO_EXPORT_DIMACS, "dimacs", "text/plain; charset=utf-8")

enum proto_export_as {
#define X(name, word, type) name,
    PROTO_EXPORT_MAP(X)
#undef X
};
/* The media type of a format by its word; NULL when there is no such format. */
const char *proto_export_media_type(const char *as);

/* As they came: what is wrong with them is the answer's problem. */
struct proto_export_params {
    const char *as;     /* a word of the map; NULL is a problem */
    const char *around; /* a node's name; NULL: all. Not for min-cut-... */
    const char *depth;  /* edges of the network away from it, a decimal number;
                           NULL: 2. Only with `around` */
};

/* Decode, apply the passes, solve, and write what the last cut looked at:
 *   min-cut-information  the JSON of PyTorch's structured trace
 *   dot                  the flow network for Graphviz
 *   dimacs               the same for solvers of maximum flow
 * `request->format` is not read. A graph without a plan has a network
 * (PROTO_NO_PLAN) but no min-cut-information: that is then the problem
 * invalid-graph with the reason. Problems besides: bad-request for parameters;
 * not-found when `around` is no node. Does not look up, and has no template.
 * The same request gives the same bytes. O(nodes + edges) beside solving.
 * Release the answer. */
void proto_export(const struct proto_env *env,
                  const struct proto_request *request,
                  const struct proto_export_params *params,
                  struct proto_answer *answer);

/* The known word that `word` was probably meant to be, or NULL. Letter case,
 * and whether words are joined by - or _, do not count. O(n * length^2). */
const char *proto_nearest_word(const char *const *known, size_t n,
                               const char *word);

/* ---- ranks of one job: one decision for all ----------------------------- */

/*
 * Every rank sends a plan request with "rank" and "world_size" beside its other
 * members. proto_rank_open reads and solves one; what it keeps can wait for the
 * other ranks. proto_ranks_decide takes all and gives each its answer: a plan
 * document with the member "group", otherwise equal to the last byte to what
 * proto_plan answers, where the group's decision is this document's own.
 *
 * The decision is the one, of those the ranks made for themselves, whose saved
 * bytes are least on the rank where they are most; of equals, the one of the
 * lowest rank. It does not depend on the order of arrival. Graphs need the same
 * structure (remat.h), options but deadline_ms and explain, and passes.
 */
enum {
    PROTO_MOST_RANKS = 65536
};

/* What one document comes to: immutable, any thread may read it. Ranks that ask
 * the same question (digest and explain) share one. */
struct proto_rank_document;

struct proto_rank {
    uint32_t rank;       /* below world_size */
    uint32_t world_size; /* 1 to PROTO_MOST_RANKS */
    /* a new one is the caller's: proto_rank_document_free */
    struct proto_rank_document *document;
};

/* Asked once when a request is decoded: PROTO_SOLVE, or PROTO_KNOWN_ANSWER to
 * stop there, with the document of that name if the caller holds one. May be
 * NULL. */
struct proto_rank_finder {
    enum proto_found (*find)(void *context, const char *name,
                             const struct proto_rank *rank,
                             struct proto_rank_document **document);
    void *context;
};

/* Reads, solves and keeps a request of a rank (request->format is not read).
 * PROTO_PROBLEM: answer->problem says why and there is no document.
 * PROTO_KNOWN: *rank holds what find gave. Otherwise it holds a new document,
 * and answer tells the result, effort and timings, without a body. Release the
 * answer. */
void proto_rank_open(const struct proto_env *env,
                     const struct proto_request *request,
                     const struct proto_rank_finder *finder,
                     struct proto_rank *rank, struct proto_answer *answer);
void proto_rank_document_free(struct proto_rank_document *document);
/* Digest and explain: equal for equal questions. */
const char *
proto_rank_document_name(const struct proto_rank_document *document);
/* Bytes held: the request, its own answer, and 8 for each node. */
size_t proto_rank_document_bytes(const struct proto_rank_document *document);

struct proto_rank_group {
    const char *key;
    const struct proto_rank *members; /* in any order, each rank once */
    uint32_t n_members;               /* world_size of them */
};

/* One answer for all ranks with the same document. */
struct proto_rank_answer {
    const struct proto_rank_document *document;
    enum proto_result result; /* PROTO_PLAN or PROTO_NO_PLAN */
    char *body;               /* NUL-terminated, newline at the end */
    size_t length;
    const char *outcome;
    char digest[65]; /* of the request */
};
struct proto_rank_verdict {
    struct proto_problem problem; /* for all ranks: ranks-disagree, a limit */
    struct proto_rank_answer *answers; /* one for each distinct document */
    uint32_t n_answers;                /* 0 with a problem */
    bool has_decision;         /* no rank has a plan: every answer says why */
    uint32_t decided_by;       /* the rank whose decision it is */
    int64_t worst_saved_bytes; /* of that decision on all ranks */
    uint64_t n_steps;          /* the solver's effort for the answers */
};

/* Decides for all. Documents whose own decision is another one are read and
 * verified once more, one after the other, each within env's limits; to tell a
 * difference, two at the same time. Release the verdict. */
void proto_ranks_decide(const struct proto_env *env,
                        const struct proto_rank_group *group,
                        struct proto_rank_verdict *verdict);
void proto_rank_verdict_release(struct proto_rank_verdict *verdict);

#endif
