/*
 * bench_main.c: the benchmark program. Prints a JSON line for each graph.
 *
 *   bench flow GRAPH...      maximum flow, ours and the peer's
 *   bench request GRAPH...   a whole request through proto, by phase
 *   bench why GRAPH NODE     a node explained, and a what-if about it, each
 *                            beside a plan request in turn
 *
 * GRAPH is a file or chain:N, a generated training step of N nodes. run.py
 * prepares the files and makes the table.
 */
#include "bench.h"

#include "proto.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BUDGET_NS   UINT64_C(2000000000) /* per graph and measurement */
#define MAX_SAMPLES 200
#define MIN_SAMPLES 3

uint64_t bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left;
    const uint64_t b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

uint64_t bench_median(uint64_t *samples, size_t n)
{
    qsort(samples, n, sizeof *samples, compare);
    return samples[n / 2];
}

void *bench_allocate(size_t n, size_t size)
{
    void *memory = calloc(n, size);

    if (memory == NULL) {
        fputs("bench: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static char *read_graph(const char *name, size_t *length)
{
    static const char chain[] = "chain:";

    if (strncmp(name, chain, strlen(chain)) == 0)
        return bench_chain((uint32_t)strtoul(name + strlen(chain), NULL, 10),
                           length);
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(name);
        exit(1);
    }
    const long size = ftell(file);
    char *text = bench_allocate((size_t)size + 1, 1);
    rewind(file);
    *length = fread(text, 1, (size_t)size, file);
    fclose(file);
    return text;
}

static uint64_t now_ns(void *context)
{
    (void)context;
    return bench_now_ns();
}

/* What is asked of every graph. */
struct question {
    const char *command;
    void (*ask)(const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer);
    const char *options;
};

static const struct question questions[] = {
    {"flow", proto_plan, NULL},
    {"request", proto_plan, NULL},
    {"budget", proto_plan, "{\"activation_memory_budget\":0.5}"},
    {"frontier", proto_frontier, NULL},
};

static const struct question *find_question(const char *command)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(questions[i].command, command) == 0)
            return &questions[i];
    return NULL;
}

/* One request with the limits raised; a refusal ends the program. */
static void ask(const struct question *question, const char *name,
                const char *body, size_t length, struct proto_answer *answer)
{
    struct proto_env env = {.now_ns = now_ns};
    const struct proto_request request = {.body = body,
                                          .length = length,
                                          .options = question->options,
                                          .format = PROTO_JSON};

    proto_limits_init(&env.limits);
    env.limits.body_bytes = (size_t)1 << 30;
    env.limits.memory_bytes = (size_t)1 << 34;
    env.limits.n_nodes = 4000000;
    env.limits.n_steps = 0;
    question->ask(&env, &request, answer);
    if (answer->result == PROTO_PROBLEM) {
        fprintf(stderr, "bench: %s: %s: %s\n", name,
                proto_problem_code(answer->problem.kind),
                answer->problem.detail);
        exit(1);
    }
}

static void measure_flow(const struct question *question, const char *name,
                         const char *body, size_t length)
{
    struct proto_answer answer = {0};

    bench_flow_begin(BUDGET_NS);
    ask(question, name, body, length, &answer);
    const struct bench_flow flow = bench_flow_end();
    printf("{\"graph\":\"%s\",\"vertices\":%" PRIu32 ",\"edges\":%" PRIu32
           ",\"samples\":%" PRIu32 ",\"value\":%" PRId64 ",\"ours_ns\":%" PRIu64
           ",\"peer_ns\":%" PRIu64 ",\"ours_layout_ns\":%" PRIu64
           ",\"peer_layout_ns\":%" PRIu64 "}\n",
           name, flow.n_vertices, flow.n_edges, flow.n_samples, flow.value,
           flow.ours_ns, flow.peer_ns, flow.ours_layout_ns,
           flow.peer_layout_ns);
    proto_answer_release(&answer);
}

static void measure_request(const struct question *question, const char *name,
                            const char *body, size_t length)
{
    enum {
        TOTAL = PROTO_N_PHASES,
        N_ROWS
    };
    static uint64_t samples[N_ROWS][MAX_SAMPLES];
    struct proto_answer answer = {0};
    const uint64_t begin = bench_now_ns();
    size_t n = 0;

    while (n < MAX_SAMPLES &&
           (n < MIN_SAMPLES || bench_now_ns() - begin < BUDGET_NS)) {
        const uint64_t start = bench_now_ns();

        ask(question, name, body, length, &answer);
        samples[TOTAL][n] = bench_now_ns() - start;
        for (size_t i = 0; i < PROTO_N_PHASES; i++)
            samples[i][n] = answer.phase_ns[i];
        if (n++ == 0)
            printf("{\"graph\":\"%s\",\"outcome\":\"%s\",\"nodes\":%" PRIu32
                   ",\"bytes\":%zu,\"memory_bytes\":%zu",
                   name, answer.outcome, answer.n_nodes, length,
                   answer.memory_bytes);
        proto_answer_release(&answer);
    }
    for (size_t i = 0; i < PROTO_N_PHASES; i++)
        printf(",\"%s_ns\":%" PRIu64, proto_phase_name((enum proto_phase)i),
               bench_median(samples[i], n));
    printf(",\"samples\":%zu,\"total_ns\":%" PRIu64 "}\n", n,
           bench_median(samples[TOTAL], n));
}

/* ---- questions about a node -------------------------------------------- */

static const char *node; /* they are about it */

static void ask_node(const struct proto_env *env,
                     const struct proto_request *request,
                     struct proto_answer *answer)
{
    proto_node(env, request, node, answer);
}

/* {"base": the graph, "what_if": {"tags": {node: "must_recompute"}}} */
static char *make_what_if(const char *body, size_t length, size_t *n)
{
    static const char open[] = "{\"base\":";
    static const char close[] =
        ",\"what_if\":{\"tags\":{\"%s\":\"must_recompute\"}}}";
    const size_t size = length + sizeof open + sizeof close + strlen(node);
    char *text = bench_allocate(size, 1);

    memcpy(text, open, sizeof open - 1);
    memcpy(text + sizeof open - 1, body, length);
    *n = sizeof open - 1 + length;
    *n += (size_t)snprintf(text + *n, size - *n, close, node);
    return text;
}

static uint64_t time_of(const struct question *question, const char *name,
                        const char *body, size_t length)
{
    const uint64_t start = bench_now_ns();
    struct proto_answer answer = {0};

    ask(question, name, body, length, &answer);
    const uint64_t taken = bench_now_ns() - start;
    proto_answer_release(&answer);
    return taken;
}

/* A plan, the explanation and the what-if in turn; ratios are of neighbours. */
static void measure_why(const char *name, const char *body, size_t length)
{
    static const struct question plan = {"plan", proto_plan, NULL};
    static const struct question explain = {"explain", ask_node, NULL};
    static const struct question what_if = {"what-if", proto_what_if, NULL};
    enum {
        PLAN,
        EXPLAIN,
        WHAT_IF,
        EXPLAIN_RATIO,
        WHAT_IF_RATIO,
        N_ROWS
    };
    static uint64_t samples[N_ROWS][MAX_SAMPLES];
    size_t n_changed = 0;
    char *changed = make_what_if(body, length, &n_changed);
    const uint64_t begin = bench_now_ns();
    size_t n = 0;

    for (; n < MAX_SAMPLES &&
           (n < MIN_SAMPLES || bench_now_ns() - begin < 2 * BUDGET_NS);
         n++) {
        samples[PLAN][n] = time_of(&plan, name, body, length);
        samples[EXPLAIN][n] = time_of(&explain, name, body, length);
        samples[WHAT_IF][n] = time_of(&what_if, name, changed, n_changed);
        samples[EXPLAIN_RATIO][n] =
            samples[EXPLAIN][n] * 1000 / samples[PLAN][n];
        samples[WHAT_IF_RATIO][n] =
            samples[WHAT_IF][n] * 1000 / samples[PLAN][n];
    }
    printf("{\"graph\":\"%s\",\"node\":\"%s\",\"samples\":%zu"
           ",\"plan_ns\":%" PRIu64 ",\"explain_ns\":%" PRIu64
           ",\"what_if_ns\":%" PRIu64 ",\"explain_ratio\":%.3f"
           ",\"what_if_ratio\":%.3f}\n",
           name, node, n, bench_median(samples[PLAN], n),
           bench_median(samples[EXPLAIN], n), bench_median(samples[WHAT_IF], n),
           (double)bench_median(samples[EXPLAIN_RATIO], n) / 1000,
           (double)bench_median(samples[WHAT_IF_RATIO], n) / 1000);
    free(changed);
}

static int run_why(char **argv)
{
    size_t length = 0;
    char *body = read_graph(argv[0], &length);

    node = argv[1];
    proto_start();
    measure_why(argv[0], body, length);
    free(body);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "why") == 0)
        return run_why(argv + 2);

    const struct question *question = argc > 2 ? find_question(argv[1]) : NULL;

    if (question == NULL) {
        fputs("usage: bench flow|request|budget|frontier GRAPH...\n"
              "       bench why GRAPH NODE\n",
              stderr);
        return 2;
    }
    proto_start();
    for (int i = 2; i < argc; i++) {
        size_t length = 0;
        char *body = read_graph(argv[i], &length);

        (question == questions ? measure_flow : measure_request)(
            question, argv[i], body, length);
        fflush(stdout);
        free(body);
    }
    return 0;
}
