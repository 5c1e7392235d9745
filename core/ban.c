/*
 * ban.c: one ban: its reason in words, and whether 5.2 allows it.
 */
#include "ban.h"

const char *remat_ban_text(enum remat_ban_reason reason)
{
    switch (reason) {
#define X(name, text, origin) \
    case name:                \
        return text;
        REMAT_BAN_MAP(X)
#undef X
    }
    return "";
}

enum remat_origin remat_ban_origin(enum remat_ban_reason reason)
{
    switch (reason) {
#define X(name, text, origin) \
    case name:                \
        return REMAT_ORIGIN_##origin;
        REMAT_BAN_MAP(X)
#undef X
    }
    return REMAT_ORIGIN_HEURISTIC;
}

bool remat_ban_is_allowed(const struct remat_work *w,
                          const struct remat_bans *bans, remat_node v)
{
    const struct remat_graph *g = w->g;

    if (remat_has_trait(g, v, REMAT_VIEW) && !remat_is_plain(w))
        return false;
    if (bans->dont_ban != NULL && bans->dont_ban[v] &&
        (w->options.unsafe_allow_optimization_of_collectives ||
         !remat_is_collective(g, v)))
        return false;
    if (remat_wants_recompute(w->tag[v]))
        return false;
    return remat_spec(g, v)->value.kind != REMAT_VALUE_SYM_FLOAT;
}

void remat_ban(const struct remat_work *w, struct remat_bans *bans,
               remat_node v, enum remat_ban_reason reason)
{
    if (bans->reason[v] != REMAT_BAN_NONE || !remat_ban_is_allowed(w, bans, v))
        return;
    bans->reason[v] = (uint8_t)reason;
    bans->list[bans->n++] = (struct remat_ban){v, reason};
}
