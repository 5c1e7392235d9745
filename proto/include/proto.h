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
    "rematd/0.1.0" /* goes into digests: any change of \
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

struct proto_env {
    struct proto_limits limits;
    /* Monotonic nanoseconds; NULL: no timings and no deadline_ms. */
    uint64_t (*now_ns)(void *context);
    /* Non-zero: give up (504). May be NULL. Polled while solving. */
    int (*cancelled)(void *context);
    void *context;
    uint64_t started_ns; /* what deadline_ms counts from; 0: from the call */
};

/* X(enumerator, code, HTTP status, title). The one list of stable codes. */
#define PROTO_PROBLEM_MAP(X)                                                   \
    X(PROTO_NO_PROBLEM, "ok", 200, "OK")                                       \
    X(PROTO_MALFORMED_JSON, "malformed-json", 400, "Not a JSON document")      \
    X(PROTO_BAD_REQUEST, "bad-request", 400, "Malformed request")              \
    X(PROTO_FORBIDDEN, "forbidden", 403, "Forbidden")                          \
    X(PROTO_NOT_FOUND, "not-found", 404, "No such resource")                   \
    X(PROTO_METHOD_NOT_ALLOWED, "method-not-allowed", 405,                     \
      "Method not allowed")                                                    \
    X(PROTO_NOT_ACCEPTABLE, "not-acceptable", 406, "Not acceptable")           \
    X(PROTO_SLOW_REQUEST, "slow-request", 408, "The request took too long")    \
    X(PROTO_LENGTH_REQUIRED, "length-required", 411, "Length required")        \
    X(PROTO_TOO_LARGE, "too-large", 413, "Too large")                          \
    X(PROTO_UNSUPPORTED_MEDIA, "unsupported-media-type", 415,                  \
      "Unsupported media type")                                                \
    X(PROTO_INVALID_GRAPH, "invalid-graph", 422, "Not a valid graph document") \
    X(PROTO_UNKNOWN_SCHEMA, "unknown-schema", 422, "Unknown schema")           \
    X(PROTO_SIZE_UNKNOWN, "size-unknown", 422, "A needed size is unknown")     \
    X(PROTO_UNKNOWN_OPTION, "unknown-option", 422, "Unknown option or value")  \
    X(PROTO_UNKNOWN_PASS, "unknown-pass", 422, "Unknown pass")                 \
    X(PROTO_INTERNAL, "internal-error", 500, "Internal error")                 \
    X(PROTO_NOT_IMPLEMENTED, "not-implemented", 501, "Not implemented")        \
    X(PROTO_OUT_OF_MEMORY, "out-of-memory", 503, "Out of memory")              \
    X(PROTO_QUEUE_FULL, "queue-full", 503, "The queue is full")                \
    X(PROTO_DRAINING, "draining", 503, "Shutting down")                        \
    X(PROTO_NOT_READY, "not-ready", 503, "Not ready")                          \
    X(PROTO_DEADLINE, "deadline-exceeded", 504, "Deadline exceeded")           \
    X(PROTO_STEP_LIMIT, "step-limit", 504, "Step limit reached")

enum proto_problem_kind {
#define X(name, code, status, title) name,
    PROTO_PROBLEM_MAP(X)
#undef X
};
const char *proto_problem_code(enum proto_problem_kind kind);
int proto_problem_status(enum proto_problem_kind kind);

/* A problem in the making: fixed size, no ownership. The first one set wins. */
struct proto_problem {
    enum proto_problem_kind kind;
    char pointer[256]; /* JSON Pointer into the document, "" for none or root */
    bool has_pointer;
    char detail[512]; /* what is wrong and what to write instead */
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

enum proto_format {
    PROTO_JSON,
    PROTO_TEXT
};

enum proto_result {
    PROTO_PLAN,    /* a plan: body holds it */
    PROTO_NO_PLAN, /* infinite_flow or invalid_output: body explains */
    PROTO_PROBLEM  /* problem says why; body is NULL */
};

struct proto_answer {
    enum proto_result result;
    struct proto_problem problem;
    char *body; /* NUL-terminated, newline at the end; proto_answer_release */
    size_t length;
    char *remarks;   /* of proto_tags: a line for each diagnostic of a pass, or
                        NULL; proto_answer_release */
    char digest[65]; /* lower-case hex SHA-256 of the canonical request */
    const char *outcome; /* "plan", "infinite_flow", "invalid_output" or NULL */
    uint32_t n_nodes;    /* of the graph, 0 when it was not read */
    uint64_t n_steps;    /* the solver's effort */
    size_t memory_bytes; /* peak of tree, graph and solver */
    uint64_t phase_ns[PROTO_N_PHASES]; /* zero without a clock */
};

/* A plan request. `body` is a graph document, optionally with "options" and
 * "passes" beside its fields, or {"graph":…,"options":…,"passes":…}.
 * `options` and `passes` (JSON text, NULL for none) are laid over those of the
 * body, member by member and as a whole: the command line's flags. */
struct proto_request {
    const char *body;
    size_t length;
    const char *options;
    const char *passes;
    enum proto_format format;
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
void proto_answer_release(struct proto_answer *answer);
void proto_free(char *text);

#endif
