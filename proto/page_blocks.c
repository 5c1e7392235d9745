/*
 * page_blocks.c: from nodes to blocks, and from blocks to rows.
 *
 * Operators with one key are one block, in the order in which keys first come
 * up. An operator without a module is of the last block it reads a value of, or
 * of the block before it. The backward has no modules: an operator there
 * belongs to the last block it reads a value of, or where it reads gradients
 * alone, to the first block these came from.
 */
#include "page_blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_BYTES = 48
};

/* An operator of the forward. */
struct member {
    struct proto_label key;
    remat_node node;
};

struct block {
    struct proto_label label;
    uint64_t signature;
};

struct build {
    struct proto_page *page;
    struct block *blocks;
    uint32_t n_blocks;
    uint32_t *block_of; /* by node */
    uint32_t *row;      /* by block */
};

/* ---- keys -------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The module up to and with its first component that is a number. */
static struct proto_label key_of(const char *module)
{
    size_t n = strlen(module);

    for (size_t i = 1; i < n; i++) {
        size_t digits = strspn(module + i, "0123456789");

        if (digits == 0 || (module[i - 1] != '.' && module[i - 1] != '['))
            continue;
        if (module[i + digits] == ']')
            return (struct proto_label){module, i + digits + 1};
        if (module[i + digits] == '.' || module[i + digits] == '\0')
            return (struct proto_label){module, i + digits};
    }
    return (struct proto_label){module, n};
}

static int compare_labels(struct proto_label a, struct proto_label b)
{
    int order = memcmp(a.at, b.at, a.n < b.n ? a.n : b.n);

    if (order != 0)
        return order;
    return a.n == b.n ? 0 : a.n < b.n ? -1 : 1;
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = compare_labels(x->key, y->key);

    return order != 0 ? order : x->node < y->node ? -1 : 1;
}

static int compare_places(const void *a, const void *b)
{
    remat_node x = ((const struct member *)a)->node;
    remat_node y = ((const struct member *)b)->node;

    return x < y ? -1 : x > y;
}

static bool is_operator(const struct proto_page *page, remat_node v)
{
    return page->side[v] == PROTO_SIDE_FORWARD &&
           remat_graph_node(page->job, v)->op == REMAT_CALL_FUNCTION;
}

/* ---- blocks by module -------------------------------------------------- */

/* Keys in the order in which they first come up; returns how many. Leaves
 * members sorted by key. */
static uint32_t list_keys(struct member *members, uint32_t n,
                          struct member *firsts)
{
    uint32_t n_keys = 0;

    qsort(members, n, sizeof(*members), compare_members);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || compare_labels(members[i - 1].key, members[i].key) != 0)
            firsts[n_keys++] = members[i];
    qsort(firsts, n_keys, sizeof(*firsts), compare_places);
    return n_keys;
}

/* The last block that an operator without a module reads a value of. */
static uint32_t last_read(const struct build *b, remat_node v,
                          uint32_t otherwise)
{
    struct remat_nodes inputs = remat_node_inputs(b->page->job, v);
    uint32_t last = REMAT_NONE;

    for (uint32_t i = 0; i < inputs.n; i++) {
        uint32_t block = b->block_of[inputs.at[i]];

        if (block != REMAT_NONE && (last == REMAT_NONE || block > last))
            last = block;
    }
    return last == REMAT_NONE ? otherwise : last;
}

/* Operators that have no block yet. */
static void place_others(const struct build *b)
{
    const struct proto_page *page = b->page;
    uint32_t current = 0;

    for (remat_node v = 0; v < page->n; v++) {
        bool is_own = is_operator(page, v);

        /* Others too, for now: a saved value may be made of them. */
        if (b->block_of[v] == REMAT_NONE)
            b->block_of[v] = last_read(b, v, is_own ? current : REMAT_NONE);
        if (is_own)
            current = b->block_of[v];
    }
}

static bool by_module(struct build *b, struct member *members, uint32_t n)
{
    struct proto_page *page = b->page;
    struct member *firsts = remat_job_alloc(page->job, n, sizeof(*firsts));
    uint32_t at = 0;

    if (firsts == NULL)
        return false;
    b->n_blocks = list_keys(members, n, firsts);
    b->blocks = remat_job_alloc(page->job, b->n_blocks, sizeof(*b->blocks));
    if (b->blocks == NULL)
        return false;
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        b->blocks[i].label = firsts[i].key;
        b->block_of[firsts[i].node] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || compare_labels(members[i - 1].key, members[i].key) != 0)
            at = b->block_of[members[i].node];
        b->block_of[members[i].node] = at;
    }
    place_others(b);
    return true;
}

/* ---- blocks by repetition ---------------------------------------------- */

struct kind {
    const char *target;
    uint32_t position;
};

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = a;
    const struct kind *y = b;
    int order = strcmp(x->target, y->target);

    return order != 0 ? order : x->position < y->position ? -1 : 1;
}

/* The operators of the forward as numbers, equal for equal ones. */
static uint32_t *number_kinds(const struct proto_page *page,
                              const remat_node *nodes, uint32_t n)
{
    struct kind *kinds = remat_job_alloc(page->job, n, sizeof(*kinds));
    uint32_t *numbers = remat_job_alloc(page->job, n, sizeof(*numbers));
    uint32_t number = 0;

    if (kinds == NULL || numbers == NULL)
        return NULL;
    for (uint32_t i = 0; i < n; i++)
        kinds[i] =
            (struct kind){remat_graph_node(page->job, nodes[i])->target, i};
    qsort(kinds, n, sizeof(*kinds), compare_kinds);
    for (uint32_t i = 0; i < n; i++) {
        number += i > 0 && strcmp(kinds[i - 1].target, kinds[i].target) != 0;
        numbers[kinds[i].position] = number;
    }
    return numbers;
}

static bool name_parts(struct build *b)
{
    char *labels = remat_job_alloc(b->page->job, b->n_blocks, LABEL_BYTES);

    if (labels == NULL)
        return false;
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        char *label = labels + (size_t)i * LABEL_BYTES;
        int n = snprintf(label, LABEL_BYTES, "part %" PRIu32, i + 1);

        b->blocks[i].label = (struct proto_label){label, (size_t)n};
    }
    return true;
}

/* Values that only the backward asks for stand behind the forward: they belong
 * to what they are made of. */
static bool is_repeated(const struct proto_page *page, remat_node v)
{
    const bool *required = page->plan->facts.required_fw;

    return is_operator(page, v) && (required == NULL || required[v]);
}

static bool by_repetition(struct build *b)
{
    struct proto_page *page = b->page;
    remat_node *nodes = remat_job_alloc(page->job, page->n, sizeof(*nodes));
    uint32_t *part = remat_job_alloc(page->job, page->n, sizeof(*part));
    uint32_t *kinds;
    uint32_t n = 0;

    if (nodes == NULL || part == NULL)
        return false;
    for (remat_node v = 0; v < page->n; v++)
        if (is_repeated(page, v))
            nodes[n++] = v;
    if (n == 0)
        return true;
    kinds = number_kinds(page, nodes, n);
    if (kinds == NULL)
        return false;
    b->n_blocks = proto_repeats_find(page->job, kinds, n, part);
    b->blocks = remat_job_alloc(page->job, b->n_blocks, sizeof(*b->blocks));
    if (b->n_blocks == 0 || b->blocks == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        b->block_of[nodes[i]] = part[i];
    place_others(b);
    return name_parts(b);
}

static bool find_blocks(struct build *b)
{
    struct proto_page *page = b->page;
    struct member *members =
        remat_job_alloc(page->job, page->n, sizeof(*members));
    uint32_t n_named = 0;
    uint32_t n = 0;

    if (members == NULL)
        return false;
    for (remat_node v = 0; v < page->n; v++) {
        const char *module = remat_graph_node(page->job, v)->module;

        b->block_of[v] = REMAT_NONE;
        if (!is_operator(page, v))
            continue;
        n++;
        if (module != NULL && module[0] != '\0')
            members[n_named++] = (struct member){key_of(module), v};
    }
    if (n == 0)
        return true;
    return n_named >= n / 5 + 1 ? by_module(b, members, n_named)
                                : by_repetition(b);
}

/* ---- what belongs to them ---------------------------------------------- */

/* Inputs are of the block of their first reader. */
static void place_inputs(const struct build *b)
{
    const struct proto_page *page = b->page;

    for (remat_node v = 0; v < page->n; v++) {
        struct remat_nodes inputs = remat_node_inputs(page->job, v);

        if (!is_operator(page, v))
            continue;
        for (uint32_t i = 0; i < inputs.n; i++)
            if (b->block_of[inputs.at[i]] == REMAT_NONE &&
                page->side[inputs.at[i]] == PROTO_SIDE_FORWARD)
                b->block_of[inputs.at[i]] = b->block_of[v];
    }
}

static uint32_t backward_block(const struct build *b, remat_node v,
                               uint32_t otherwise)
{
    const struct proto_page *page = b->page;
    struct remat_nodes inputs = remat_node_inputs(page->job, v);
    uint32_t value = REMAT_NONE;
    uint32_t input = REMAT_NONE;
    uint32_t gradient = REMAT_NONE;

    for (uint32_t i = 0; i < inputs.n; i++) {
        remat_node u = inputs.at[i];
        uint32_t block = b->block_of[u];
        bool is_last = page->side[u] == PROTO_SIDE_FORWARD;
        uint32_t *best = !is_last               ? &gradient
                         : is_operator(page, u) ? &value
                                                : &input;

        if (block == REMAT_NONE)
            continue;
        if (*best == REMAT_NONE || (is_last ? block > *best : block < *best))
            *best = block;
    }
    if (value != REMAT_NONE)
        return value;
    if (gradient != REMAT_NONE)
        return gradient;
    return input != REMAT_NONE ? input : otherwise;
}

static void place_backward(const struct build *b)
{
    const struct proto_page *page = b->page;
    uint32_t current = b->n_blocks - 1;

    for (remat_node v = 0; v < page->n; v++)
        if (page->side[v] == PROTO_SIDE_BACKWARD) {
            current = backward_block(b, v, current);
            b->block_of[v] = current;
        }
}

static void sign_blocks(const struct build *b)
{
    const struct proto_page *page = b->page;

    for (uint32_t i = 0; i < b->n_blocks; i++)
        b->blocks[i].signature = UINT64_C(14695981039346656037);
    for (remat_node v = 0; v < page->n; v++) {
        uint64_t *signature;
        const char *target = remat_graph_node(page->job, v)->target;

        if (!is_operator(page, v))
            continue;
        signature = &b->blocks[b->block_of[v]].signature;
        for (; *target != '\0'; target++)
            *signature =
                (*signature ^ (unsigned char)*target) * UINT64_C(1099511628211);
        *signature =
            (*signature ^ (page->state[v] + 256U)) * UINT64_C(1099511628211);
    }
}

/* ---- rows -------------------------------------------------------------- */

static bool differ_in_numbers(struct proto_label a, struct proto_label b)
{
    size_t i = 0;
    size_t j = 0;

    while (i < a.n && j < b.n) {
        if (is_digit(a.at[i]) && is_digit(b.at[j])) {
            while (i < a.n && is_digit(a.at[i]))
                i++;
            while (j < b.n && is_digit(b.at[j]))
                j++;
        } else if (a.at[i++] != b.at[j++]) {
            return false;
        }
    }
    return i == a.n && j == b.n;
}

static bool are_alike(const struct block *a, const struct block *b)
{
    return a->signature == b->signature &&
           differ_in_numbers(a->label, b->label);
}

/* Rows of neighbours that are alike; returns how many. */
static uint32_t fold(struct build *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n_blocks; i++) {
        if (i > 0 && are_alike(&b->blocks[i - 1], &b->blocks[i]))
            b->row[i] = n - 1;
        else
            b->row[i] = n++;
    }
    return n;
}

static void count_rows(const struct build *b, struct proto_blocks *blocks,
                       uint32_t n_folded)
{
    for (uint32_t i = 0; i < b->n_blocks; i++) {
        uint32_t at =
            (uint32_t)((uint64_t)b->row[i] * blocks->n_rows / n_folded);
        struct proto_block_row *row = &blocks->rows[at];

        if (row->n_blocks == 0)
            row->first = b->blocks[i].label;
        else if (!are_alike(&b->blocks[i - 1], &b->blocks[i]))
            row->is_merged = true;
        row->last = b->blocks[i].label;
        row->n_blocks++;
        b->row[i] = at;
    }
}

static void count_node(const struct proto_page *page, remat_node v,
                       struct proto_block_row *row)
{
    bool is_call = remat_graph_node(page->job, v)->op == REMAT_CALL_FUNCTION;
    int64_t n_bytes = remat_node_bytes(page->job, v);
    int64_t flops;

    row->n_forward += is_call && page->side[v] == PROTO_SIDE_FORWARD;
    row->n_backward += is_call && page->side[v] == PROTO_SIDE_BACKWARD;
    if (page->state[v] == REMAT_PLACE_SAVED &&
        !remat_node_is_static(page->job, v)) {
        row->n_saved++;
        if (n_bytes > 0 && n_bytes <= INT64_MAX - row->saved_bytes)
            row->saved_bytes += n_bytes;
    }
    if (page->state[v] == REMAT_PLACE_RECOMPUTED) {
        flops = remat_node_flops(page->job, v);
        row->n_again++;
        if (flops <= INT64_MAX - row->again_flops)
            row->again_flops += flops;
    }
}

static bool make_rows(struct build *b, struct proto_blocks *blocks)
{
    struct proto_page *page = b->page;
    uint32_t n_folded;

    b->row = remat_job_alloc(page->job, b->n_blocks, sizeof(*b->row));
    if (b->row == NULL)
        return false;
    n_folded = fold(b);
    blocks->n_rows =
        n_folded < PROTO_MOST_BLOCK_ROWS ? n_folded : PROTO_MOST_BLOCK_ROWS;
    blocks->rows =
        remat_job_alloc(page->job, blocks->n_rows, sizeof(*blocks->rows));
    if (blocks->rows == NULL)
        return false;
    count_rows(b, blocks, n_folded);
    for (remat_node v = 0; v < page->n; v++) {
        if (b->block_of[v] == REMAT_NONE)
            continue;
        b->block_of[v] = b->row[b->block_of[v]];
        count_node(page, v, &blocks->rows[b->block_of[v]]);
    }
    return true;
}

bool proto_blocks_find(struct proto_page *page, struct proto_blocks *blocks)
{
    struct build b = {.page = page};

    *blocks = (struct proto_blocks){0};
    b.block_of = remat_job_alloc(page->job, page->n, sizeof(*b.block_of));
    blocks->row_of = b.block_of;
    if (b.block_of == NULL || !find_blocks(&b))
        return false;
    if (b.n_blocks == 0)
        return true;
    place_inputs(&b);
    place_backward(&b);
    sign_blocks(&b);
    return make_rows(&b, blocks);
}
