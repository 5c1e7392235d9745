/*
 * verify_capacity.c: semantics 6.3 to 6.5 a second time, read off the rules one
 * question at a time instead of built up node by node.
 */
#include "verify_capacity.h"

#include <string.h>

static const double distance_factor[] = {
#include "powers.inc"
};

bool remat_verify_takes_part(const struct remat_work *w, remat_node v)
{
    return w->live[v] && w->g->specs[v]->op != REMAT_OUTPUT;
}

static bool is_for_recompute(const struct remat_work *w, remat_node v)
{
    return w->tag[v] == REMAT_PREFER_RECOMPUTE ||
           w->tag[v] == REMAT_MUST_RECOMPUTE;
}

bool remat_verify_in_to_sink(const struct remat_work *w, remat_node v)
{
    return remat_verify_takes_part(w, v) &&
           (w->closure[v] || is_for_recompute(w, v));
}

bool remat_verify_out_to_sink(const struct remat_work *w, remat_node v)
{
    return remat_verify_takes_part(w, v) && w->bw[v] && !w->closure[v];
}

static bool fuses_with_all_users(const struct remat_work *w, remat_node v)
{
    uint32_t n_fused = 0;

    for (uint32_t i = w->users.begin[v]; i < w->users.begin[v + 1]; i++)
        n_fused += w->fusible[i];
    return n_fused == w->users.begin[v + 1] - w->users.begin[v];
}

static int64_t tensor_price(const struct remat_work *w, remat_node v)
{
    double n_bytes = (double)w->g->n_bytes[v];
    const int64_t most = (int64_t)1 << 62;
    uint32_t dist = w->dist[v] == 0 ? 1 : w->dist[v];
    int64_t price;

    if (w->options.profile == REMAT_PROFILE_PLAIN)
        return w->g->n_bytes[v] > most ? most : w->g->n_bytes[v];
    if (dist > 100)
        dist = 100;
    if (n_bytes * distance_factor[dist] >= (double)most)
        return most;
    price = (int64_t)(n_bytes * distance_factor[dist]);
    if (w->g->specs[v]->op != REMAT_PLACEHOLDER && fuses_with_all_users(w, v))
        price = price > most / 2 ? most : price + price;
    return price;
}

static bool costs_nothing(const struct remat_work *w, remat_node v)
{
    const struct remat_node_spec *spec = w->g->specs[v];
    const struct remat_value *value = &spec->value;

    if (value->kind == REMAT_VALUE_TENSOR)
        return w->g->is_static[v] &&
               w->options.treat_parameters_as_free_to_save;
    if (spec->opaque)
        return true;
    return value->kind == REMAT_VALUE_OPAQUE && value->type_name != NULL &&
           (strcmp(value->type_name, "BackwardState") == 0 ||
            strcmp(value->type_name, "FakeScriptObject") == 0);
}

int64_t remat_verify_through(const struct remat_work *w, remat_node v)
{
    const struct remat_value *value = &w->g->specs[v]->value;

    if (!remat_verify_takes_part(w, v) || remat_verify_in_to_sink(w, v))
        return REMAT_NO_EDGE;
    if (value->kind == REMAT_VALUE_SYM_FLOAT)
        return 4;
    if (value->kind == REMAT_VALUE_SYM_INT ||
        value->kind == REMAT_VALUE_SYM_BOOL)
        return 1;
    if (costs_nothing(w, v))
        return 0;
    if (value->kind != REMAT_VALUE_TENSOR)
        return REMAT_UNLIMITED;
    if (w->options.recompute_views && (w->g->traits[v] & REMAT_VIEW) != 0 &&
        w->options.profile != REMAT_PROFILE_PLAIN)
        return REMAT_UNLIMITED;
    return tensor_price(w, v);
}
