/*
 * watch.c: clock, deadline and progress of one request.
 */
#include "watch.h"

enum {
    TOLD_PER_STRIDE = 50,
    STRIDE_FACTOR = 8
};

static void read_clock(struct proto_watch *watch)
{
    const struct proto_env *env = watch->env;
    uint64_t now;

    if (env->now_ns == NULL)
        return;
    now = env->now_ns(env->context);
    if (now > watch->phase_began_ns)
        watch->phase_ns[watch->phase] += now - watch->phase_began_ns;
    watch->phase_began_ns = now;
}

/* Ever fewer events are told as there are more of them: fifty each, then fifty
 * of every eighth, and so on; fewer than 500 of 2^32. */
static bool is_told(struct proto_thinning *t)
{
    if (t->n_events++ % t->stride != 0)
        return false;
    if (++t->n_told == TOLD_PER_STRIDE) {
        t->n_told = 0;
        t->stride *= STRIDE_FACTOR;
    }
    return true;
}

static void tell(struct proto_watch *watch, struct proto_thinning *thinning)
{
    const struct proto_env *env = watch->env;

    if (env->progress != NULL &&
        (watch->phase == PROTO_PHASE_ENCODE || is_told(thinning)))
        env->progress(env->context, watch->phase, watch->done, watch->total);
}

void proto_watch_start(struct proto_watch *watch, const struct proto_env *env,
                       uint64_t *phase_ns)
{
    *watch = (struct proto_watch){.env = env, .phase = PROTO_PHASE_DECODE};
    watch->phase_ns = phase_ns;
    watch->phases.stride = 1;
    watch->parts.stride = 1;
    if (env->now_ns != NULL) {
        watch->phase_began_ns = env->now_ns(env->context);
        watch->started_ns =
            env->started_ns != 0 ? env->started_ns : watch->phase_began_ns;
    }
    tell(watch, &watch->phases);
}

void proto_watch_enter(struct proto_watch *watch, enum proto_phase phase)
{
    read_clock(watch);
    if (phase == watch->phase)
        return;
    watch->phase = phase;
    tell(watch, &watch->phases);
}

void proto_watch_end(struct proto_watch *watch)
{
    read_clock(watch);
}

void proto_watch_advance(struct proto_watch *watch, uint32_t done,
                         uint32_t total)
{
    if (done == watch->done && total == watch->total)
        return;
    watch->done = done;
    watch->total = total;
    tell(watch, &watch->parts);
}

void proto_watch_set_deadline(struct proto_watch *watch, int64_t deadline_ms)
{
    uint64_t ns;

    if (watch->env->now_ns == NULL ||
        __builtin_mul_overflow((uint64_t)deadline_ms, UINT64_C(1000000), &ns) ||
        __builtin_add_overflow(ns, watch->started_ns, &ns))
        return;
    watch->deadline_ns = ns;
}

int proto_watch_should_stop(void *of_watch)
{
    struct proto_watch *watch = of_watch;
    const struct proto_env *env = watch->env;

    if (env->cancelled != NULL && env->cancelled(env->context) != 0)
        watch->was_cancelled = true;
    return watch->was_cancelled ||
           (watch->deadline_ns != 0 &&
            env->now_ns(env->context) >= watch->deadline_ns);
}
