/*
 * tokens.c: arguments in an order of their own.
 */
#include "tokens.h"

#include <stdio.h>
#include <string.h>

/* ---- by name ----------------------------------------------------------- */

static void merge(const struct remat_arg *items, const uint32_t *from,
                  uint32_t *to, size_t low, size_t middle, size_t high)
{
    size_t a = low;
    size_t b = middle;

    for (size_t i = low; i < high; i++) {
        bool from_second =
            a == middle ||
            (b < high && strcmp(items[from[b]].key, items[from[a]].key) < 0);

        to[i] = from_second ? from[b++] : from[a++];
    }
}

static const uint32_t *sort_keys(struct remat_arena *arena,
                                 const struct remat_arg *items, uint32_t n)
{
    uint32_t *order = REMAT_NEW_ARRAY(arena, uint32_t, n);
    uint32_t *other = REMAT_NEW_ARRAY(arena, uint32_t, n);

    if (order == NULL || other == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        uint32_t *swap = order;

        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n;
            size_t high = low + 2 * width < n ? low + 2 * width : n;

            merge(items, order, other, low, middle, high);
        }
        order = other;
        other = swap;
    }
    return order;
}

/* ---- the walk ---------------------------------------------------------- */

static void enter(struct remat_tokens *tokens, const struct remat_arg *items,
                  uint32_t n, bool is_keyed)
{
    const uint32_t *order = NULL;

    if (tokens->depth == REMAT_ARG_DEPTH)
        return; /* no graph is built that deep */
    if (is_keyed && n > 1) {
        order = sort_keys(tokens->arena, items, n);
        if (order == NULL) {
            tokens->failed = true;
            return;
        }
    }
    tokens->level[tokens->depth].items = items;
    tokens->level[tokens->depth].order = order;
    tokens->level[tokens->depth].n = n;
    tokens->level[tokens->depth].next = 0;
    tokens->depth++;
}

void remat_tokens_init(struct remat_tokens *tokens, struct remat_arena *arena,
                       const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(g, v);

    tokens->arena = arena;
    tokens->g = g;
    tokens->node = v;
    tokens->depth = 0;
    tokens->container = NULL;
    tokens->in_keywords = false;
    tokens->failed = false;
    enter(tokens, spec->args, spec->n_args, false);
}

/* The item of a level that was given last. */
static const struct remat_arg *last_item(const struct remat_tokens *tokens,
                                         unsigned level)
{
    uint32_t i = tokens->level[level].next - 1;

    if (tokens->level[level].order != NULL)
        i = tokens->level[level].order[i];
    return &tokens->level[level].items[i];
}

/* Leaves what is finished and goes from arguments on to keywords. */
static bool leave_finished(struct remat_tokens *tokens)
{
    const struct remat_node_spec *spec = remat_spec(tokens->g, tokens->node);

    for (;;) {
        while (tokens->depth > 0 && tokens->level[tokens->depth - 1].next ==
                                        tokens->level[tokens->depth - 1].n)
            tokens->depth--;
        if (tokens->depth > 0)
            return true;
        if (tokens->in_keywords)
            return false;
        tokens->in_keywords = true;
        enter(tokens, spec->kwargs, spec->n_kwargs, true);
    }
}

const struct remat_arg *remat_tokens_next(struct remat_tokens *tokens)
{
    const struct remat_arg *container = tokens->container;
    const struct remat_arg *token;

    /* not before, so that its own place could be asked for */
    tokens->container = NULL;
    if (container != NULL)
        enter(tokens, container->as.items, container->n_items,
              container->kind == REMAT_ARG_DICT);
    if (tokens->failed || !leave_finished(tokens))
        return NULL;
    tokens->level[tokens->depth - 1].next++;
    token = last_item(tokens, tokens->depth - 1);
    if (token->kind == REMAT_ARG_LIST || token->kind == REMAT_ARG_SLICE ||
        token->kind == REMAT_ARG_DICT)
        tokens->container = token;
    return token;
}

/* ---- what a token is --------------------------------------------------- */

bool remat_tokens_is_group(const struct remat_tokens *tokens,
                           const struct remat_arg *token)
{
    if (token->kind != REMAT_ARG_STRING || tokens->depth != 1 ||
        !remat_is_collective(tokens->g, tokens->node))
        return false;
    if (tokens->in_keywords)
        return strcmp(token->key, "group_name") == 0;
    return tokens->level[0].next == tokens->level[0].n;
}

void remat_tokens_where(const struct remat_tokens *tokens, char *words,
                        size_t n_bytes)
{
    size_t used = 0;

    words[0] = '\0';
    for (unsigned i = 0; i < tokens->depth && used < n_bytes; i++) {
        const struct remat_arg *item = last_item(tokens, i);
        int n;

        if (item->key != NULL)
            n = snprintf(words + used, n_bytes - used, "%s `%.40s`",
                         i == 0 ? "keyword" : ", key", item->key);
        else
            n = snprintf(words + used, n_bytes - used, "%s %u",
                         i == 0 ? "argument" : ", item",
                         tokens->level[i].next - 1);
        if (n < 0)
            return;
        used += (size_t)n;
    }
}
