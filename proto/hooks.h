/*
 * hooks.h: a plan request with somebody else's hands in it. Private to proto.
 *
 * Rank agreement asks for plans as any client does, but takes two members out
 * of the body first, and now and then decides itself. Questions about a node or
 * about changes read more than a request.
 */
#ifndef PROTO_HOOKS_H
#define PROTO_HOOKS_H

#include "decode.h"

/* A decoded request whose passes have been applied. */
struct proto_asked {
    struct remat_job *job;
    const struct proto_options *options;
    const struct proto_passes *passes;
    const char *digest;
};

struct proto_run;

struct proto_hooks {
    /* The body as it was parsed, within its session. False: a problem is set.
     * May be NULL. */
    bool (*parsed)(void *context, json_t *body, struct proto_problem *problem);
    /* The request decoded, and named. False: a problem is set. May be NULL. */
    bool (*decoded)(void *context, struct proto_run *run,
                    const struct proto_parts *parts);
    /* Instead of remat_plan_solve. May be NULL. */
    enum remat_status (*solve)(void *context, const struct proto_asked *asked,
                               const struct remat_plan **plan,
                               struct remat_error *err);
    void *context;
};

/* proto_plan, hooked. Nothing is looked up unless env says so. */
void proto_plan_hooked(const struct proto_env *env,
                       const struct proto_request *request,
                       const struct proto_hooks *hooks,
                       struct proto_answer *answer);

#endif
