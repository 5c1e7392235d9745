/*
 * Many threads at once: each keeps its JSON session and budget to itself and
 * gets the bytes that one thread alone gets.
 */
#include "documents.h"
#include "suite.h"

#include <pthread.h>

enum {
    N_THREADS = 8,
    N_ROUNDS = 6,
    N_BODIES = 5
};

struct shared {
    char *bodies[N_BODIES];
    char *expected[N_BODIES];
};

struct worker {
    pthread_t thread;
    const struct shared *shared;
    unsigned seed;
    int n_wrong;
};

/* The answer as text: the plan, or code and detail of the problem. */
static char *answer_text(const char *body)
{
    struct proto_answer answer = ask(body, NULL, PROTO_JSON);
    char *text = malloc(answer.length + 1024);

    if (answer.body != NULL)
        memcpy(text, answer.body, answer.length + 1);
    else
        snprintf(text, 1024, "%s %s", proto_problem_code(answer.problem.kind),
                 answer.problem.detail);
    proto_answer_release(&answer);
    return text;
}

static void *work(void *argument)
{
    struct worker *worker = argument;

    for (unsigned i = 0; i < N_ROUNDS * N_BODIES; i++) {
        unsigned k = (i * 3 + worker->seed) % N_BODIES;
        char *text = answer_text(worker->shared->bodies[k]);

        worker->n_wrong += strcmp(text, worker->shared->expected[k]) != 0;
        free(text);
    }
    return NULL;
}

START_TEST(threads_do_not_disturb_each_other)
{
    struct worker workers[N_THREADS] = {0};
    struct shared shared;

    proto_start();
    shared.bodies[0] = read_corpus("moe", NULL);
    shared.bodies[1] = read_corpus("dropout_ac", NULL);
    shared.bodies[2] = read_case("G01", NULL);
    shared.bodies[3] = strdup("{\"schema\":");
    shared.bodies[4] =
        strdup(SMALL_GRAPH("\"args\":[\"%nowhere\"],", "\"a\":1,"));
    for (int i = 0; i < N_BODIES; i++)
        shared.expected[i] = answer_text(shared.bodies[i]);
    for (unsigned i = 0; i < N_THREADS; i++) {
        workers[i].shared = &shared;
        workers[i].seed = i;
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        ck_assert_int_eq(workers[i].n_wrong, 0);
    }
    for (int i = 0; i < N_BODIES; i++) {
        free(shared.bodies[i]);
        free(shared.expected[i]);
    }
}
END_TEST

SUITE("threads", threads_do_not_disturb_each_other)
