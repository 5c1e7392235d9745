/*
 * simulate.c: bytes alive at every step of a plan; the model is in simulate.h.
 *
 *   remat_simulator_init   roots, bytes and kinds, once for a graph
 *   order_forward          document order
 *   order_backward         each operator after what it lacks
 *   remat_simulate_half    lifetimes of storages, then running sums
 *   remat_simulate         both halves of a plan, and its peak
 */
#include "simulate.h"

#include <string.h>

/* ---- facts of a graph -------------------------------------------------- */

static bool is_container(const struct remat_graph *g, remat_node v)
{
    enum remat_value_kind kind = remat_spec(g, v)->value.kind;

    return kind == REMAT_VALUE_TUPLE || kind == REMAT_VALUE_DICT;
}

static bool is_tuple_of_views(const struct remat_graph *g, remat_node v)
{
    return is_container(g, v) &&
           (g->traits[v] & (REMAT_VIEW | REMAT_IS_VIEW_SCHEMA)) != 0;
}

/* The value whose storage v holds: itself, or one before it. */
static remat_node find_root(const struct remat_simulator *s, remat_node v)
{
    const struct remat_graph *g = s->w->g;
    remat_node other = g->storage[v];

    if (is_tuple_of_views(g, v) && g->inputs.begin[v] < g->inputs.begin[v + 1])
        other = g->inputs.items[g->inputs.begin[v]];
    return other == REMAT_NONE || other == v ? v : s->root[other];
}

/* Clipped so that no sum over a graph leaves 63 bits. */
static int64_t own_bytes(const struct remat_graph *g, remat_node v)
{
    const int64_t most = ((int64_t)1 << 61) / ((int64_t)g->n + 1);

    if (remat_is_symbol(g, v) || is_tuple_of_views(g, v) || g->n_bytes[v] < 0)
        return 0;
    return g->n_bytes[v] < most ? g->n_bytes[v] : most;
}

static enum remat_memory_kind kind_of(const struct remat_work *w, remat_node v)
{
    if (w->g->is_static[v] || remat_spec(w->g, v)->op == REMAT_GET_ATTR)
        return REMAT_STATIC;
    return w->closure[v] ? REMAT_GRADIENT : REMAT_ACTIVATION;
}

static bool allocate(struct remat_simulator *s)
{
    struct remat_arena *arena = &s->w->job->arena;
    size_t n = s->w->g->n;

    s->root = REMAT_NEW_ARRAY(arena, remat_node, n);
    s->bytes = REMAT_NEW_ARRAY(arena, int64_t, n);
    s->kind = REMAT_NEW_ARRAY(arena, uint8_t, n);
    s->is_container = REMAT_NEW_ARRAY(arena, bool, n);
    s->storage = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->step = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->key = REMAT_NEW_ARRAY(arena, uint32_t, n);
    s->begin = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n);
    s->last = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n);
    s->rest = REMAT_NEW_ARRAY(arena, int64_t, 2 * n);
    s->name = REMAT_NEW_ARRAY(arena, remat_node, 2 * n);
    s->seen = REMAT_NEW_ARRAY(arena, uint32_t, 2 * n);
    s->sequence = REMAT_NEW_ARRAY(arena, remat_node, n);
    s->place = REMAT_NEW_ARRAY(arena, uint32_t, n + 1);
    return arena->status == REMAT_OK;
}

enum remat_status remat_simulator_init(struct remat_work *w,
                                       struct remat_simulator *s,
                                       struct remat_error *err)
{
    const struct remat_graph *g = w->g;

    *s = (struct remat_simulator){.w = w};
    if (!allocate(s))
        return remat_job_no_memory(w->job, err);
    for (remat_node v = 0; v < g->n; v++) {
        s->root[v] = find_root(s, v);
        s->bytes[v] = own_bytes(g, v);
        s->kind[v] = (uint8_t)kind_of(w, v);
        s->is_container[v] = is_container(g, v);
    }
    memset(s->begin, 0xff, 2 * (size_t)g->n * sizeof(*s->begin));
    return REMAT_OK;
}

bool remat_trace_init(struct remat_work *w, struct remat_trace *trace)
{
    struct remat_arena *arena = &w->job->arena;
    size_t n = (size_t)w->g->n + 2;

    trace->bytes[REMAT_ACTIVATION] = REMAT_NEW_ARRAY(arena, int64_t, n);
    trace->bytes[REMAT_GRADIENT] = REMAT_NEW_ARRAY(arena, int64_t, n);
    trace->node = REMAT_NEW_ARRAY(arena, remat_node, n);
    return arena->status == REMAT_OK;
}

/* ---- order ------------------------------------------------------------- */

static uint32_t order_forward(struct remat_simulator *s,
                              const struct remat_subgraph *half)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < s->w->g->n; v++)
        if (half->kept[v])
            s->sequence[n++] = v;
    return n;
}

/* The first operator of the backward that reads a tangent. Outputs count as
 * read by the output node. REMAT_NONE: none does, all run in document order. */
static remat_node find_first(const struct remat_work *w,
                             const struct remat_subgraph *half)
{
    remat_node first = REMAT_NONE;

    for (uint32_t i = 0; i < w->g->tangents.n; i++) {
        remat_node tangent = w->g->tangents.at[i];

        if (half->is_output[tangent] && w->g->n - 1 < first)
            first = w->g->n - 1;
        REMAT_FOR_USERS (w, tangent, j)
            if (half->kept[w->users.items[j]] && w->users.items[j] < first)
                first = w->users.items[j];
    }
    return first;
}

/* Sets key[v]: the position of the operator before which v is run, v itself for
 * one that runs in its own turn; REMAT_NONE: not run. An operator's turn comes
 * before that of all its users, so one reverse walk finds the earliest. */
static void find_keys(struct remat_simulator *s,
                      const struct remat_subgraph *half)
{
    const struct remat_work *w = s->w;
    remat_node first = find_first(w, half);

    for (remat_node v = w->g->n; v-- > 0;) {
        uint32_t key = half->is_output[v] ? w->g->n - 1 : REMAT_NONE;

        s->key[v] = REMAT_NONE;
        if (!half->kept[v])
            continue;
        if (first == REMAT_NONE || v >= first ||
            remat_special(w->g, v) == REMAT_COPY) {
            s->key[v] = v;
            continue;
        }
        REMAT_FOR_USERS (w, v, i)
            if (s->key[w->users.items[i]] < key)
                key = s->key[w->users.items[i]];
        s->key[v] = key;
    }
}

/* Sorts by key, equal keys in document order, by counting. */
static uint32_t order_backward(struct remat_simulator *s,
                               const struct remat_subgraph *half)
{
    uint32_t n = s->w->g->n;
    uint32_t sum = 0;

    find_keys(s, half);
    memset(s->place, 0, n * sizeof(*s->place));
    for (remat_node v = 0; v < n; v++)
        if (s->key[v] != REMAT_NONE)
            s->place[s->key[v]]++;
    for (uint32_t key = 0; key < n; key++) {
        uint32_t count = s->place[key];

        s->place[key] = sum;
        sum += count;
    }
    for (remat_node v = 0; v < n; v++)
        if (s->key[v] != REMAT_NONE)
            s->sequence[s->place[s->key[v]]++] = v;
    return sum;
}

/* ---- lifetimes --------------------------------------------------------- */

static void touch(struct remat_simulator *s, remat_node v, uint32_t step)
{
    s->last[s->storage[v]] = step;
}

/* Puts v into a storage. */
static void make(struct remat_simulator *s, remat_node v, uint32_t storage,
                 uint32_t step)
{
    s->storage[v] = storage;
    s->step[v] = step;
    if (s->begin[storage] == REMAT_NONE) {
        s->begin[storage] = step;
        s->name[storage] = v;
        s->rest[storage] = s->bytes[s->root[v]];
        s->seen[s->n_seen++] = storage;
    }
    s->last[storage] = step;
}

/* That of the input v is a view of, else the root's, computed now. */
static uint32_t choose_storage(const struct remat_simulator *s, remat_node v,
                               bool backward)
{
    remat_node root = s->root[v];

    if (!backward)
        return root;
    if (root != v)
        REMAT_FOR_INPUTS (s->w->g, v, i)
            if (s->root[s->w->g->inputs.items[i]] == root)
                return s->storage[s->w->g->inputs.items[i]];
    return s->w->g->n + root;
}

/* The container that v, just made, takes its part over from; REMAT_NONE. */
static remat_node container_of(const struct remat_simulator *s, remat_node v)
{
    remat_node container;

    if (remat_special(s->w->g, v) != REMAT_GETITEM || s->is_container[v])
        return REMAT_NONE;
    container = remat_arg_node(s->w->g, v, 0);
    return container != REMAT_NONE && s->is_container[container] &&
                   s->root[container] == container
               ? container
               : REMAT_NONE;
}

static int64_t take_part(const struct remat_simulator *s, remat_node v,
                         int64_t rest)
{
    return s->bytes[v] < rest ? s->bytes[v] : rest;
}

static void run(struct remat_simulator *s, remat_node v, bool backward,
                uint32_t step, struct remat_trace *trace)
{
    remat_node container = container_of(s, v);

    make(s, v, choose_storage(s, v, backward), step);
    REMAT_FOR_INPUTS (s->w->g, v, i)
        touch(s, s->w->g->inputs.items[i], step);
    if (container != REMAT_NONE) {
        int64_t part = take_part(s, v, s->rest[s->storage[container]]);

        s->rest[s->storage[container]] -= part;
        if (s->kind[container] != REMAT_STATIC)
            trace->bytes[s->kind[container]][step] -= part;
    }
}

static void run_all(struct remat_simulator *s,
                    const struct remat_subgraph *half, uint32_t n,
                    struct remat_trace *trace)
{
    trace->node[0] = REMAT_NONE;
    for (remat_node v = 0; v < s->w->g->n; v++)
        if (half->is_input[v])
            make(s, v, s->root[v], 0);
    for (uint32_t i = 0; i < n; i++) {
        trace->node[i + 1] = s->sequence[i];
        run(s, s->sequence[i], half->backward, i + 1, trace);
    }
    for (remat_node v = 0; v < s->w->g->n; v++)
        if (half->is_output[v] && s->storage[v] != REMAT_NONE)
            touch(s, v, n);
}

/* ---- sums -------------------------------------------------------------- */

static void sum_up(struct remat_simulator *s, struct remat_trace *trace)
{
    for (uint32_t i = 0; i < s->n_seen; i++) {
        uint32_t storage = s->seen[i];
        remat_node root = s->root[s->name[storage]];

        if (s->kind[root] == REMAT_STATIC)
            continue;
        trace->bytes[s->kind[root]][s->begin[storage]] += s->bytes[root];
        trace->bytes[s->kind[root]][s->last[storage] + 1] -= s->rest[storage];
    }
    for (int kind = 0; kind < REMAT_STATIC; kind++)
        for (uint32_t i = 1; i < trace->n_steps; i++)
            trace->bytes[kind][i] += trace->bytes[kind][i - 1];
    trace->peak = 0;
    trace->peak_step = 0;
    for (uint32_t i = 0; i < trace->n_steps; i++)
        if (trace->bytes[REMAT_ACTIVATION][i] > trace->peak) {
            trace->peak = trace->bytes[REMAT_ACTIVATION][i];
            trace->peak_step = i;
        }
}

void remat_simulate_half(struct remat_simulator *s,
                         const struct remat_subgraph *half,
                         struct remat_trace *trace)
{
    uint32_t n = s->w->g->n;

    for (uint32_t i = 0; i < s->n_seen; i++)
        s->begin[s->seen[i]] = REMAT_NONE;
    s->n_seen = 0;
    memset(s->storage, 0xff, n * sizeof(*s->storage));
    n = half->backward ? order_backward(s, half) : order_forward(s, half);
    trace->n_steps = n + 1;
    for (int kind = 0; kind < REMAT_STATIC; kind++)
        memset(trace->bytes[kind], 0, ((size_t)n + 2) * sizeof(int64_t));
    run_all(s, half, n, trace);
    sum_up(s, trace);
}

/* ---- what is alive ----------------------------------------------------- */

/* Bytes of a storage at a step at which it is alive. */
static int64_t bytes_at(const struct remat_simulator *s, uint32_t storage,
                        uint32_t step)
{
    remat_node root = s->root[s->name[storage]];
    int64_t rest = s->bytes[root];

    if (!s->is_container[root] || s->storage[root] != storage)
        return rest;
    REMAT_FOR_USERS (s->w, root, i) {
        remat_node user = s->w->users.items[i];

        if (container_of(s, user) == root && s->storage[user] != REMAT_NONE &&
            s->step[user] > 0 && s->step[user] <= step)
            rest -= take_part(s, user, rest);
    }
    return rest;
}

uint32_t remat_list_alive(const struct remat_simulator *s, uint32_t step,
                          remat_node *at)
{
    uint32_t n = 0;

    for (remat_node v = 0; v < s->w->g->n; v++) {
        uint32_t storage = s->storage[v];

        if (storage == REMAT_NONE || s->name[storage] != v ||
            s->kind[s->root[v]] != REMAT_ACTIVATION ||
            s->begin[storage] > step || s->last[storage] < step)
            continue;
        if (bytes_at(s, storage, step) > 0)
            at[n++] = v;
    }
    return n;
}

/* ---- a plan ------------------------------------------------------------ */

static int64_t static_bytes(const struct remat_simulator *s)
{
    int64_t sum = 0;

    for (remat_node v = 0; v < s->w->g->n; v++)
        if (s->w->live[v] && s->root[v] == v && s->kind[v] == REMAT_STATIC)
            sum += s->bytes[v];
    return sum;
}

static void note_peaks(const struct remat_trace *trace,
                       struct remat_memory *memory)
{
    for (uint32_t i = 0; i < trace->n_steps; i++) {
        int64_t gradients = trace->bytes[REMAT_GRADIENT][i];
        int64_t total = trace->bytes[REMAT_ACTIVATION][i] + gradients +
                        memory->static_bytes;

        if (gradients > memory->peak_gradient_bytes)
            memory->peak_gradient_bytes = gradients;
        if (total > memory->peak_total_bytes)
            memory->peak_total_bytes = total;
    }
}

static struct remat_curve show(const struct remat_trace *trace)
{
    return (struct remat_curve){
        .n_steps = trace->n_steps,
        .node = trace->node,
        .activation_bytes = trace->bytes[REMAT_ACTIVATION],
        .gradient_bytes = trace->bytes[REMAT_GRADIENT],
    };
}

static void simulate_halves(struct remat_simulator *s,
                            const struct remat_extraction *x,
                            struct remat_trace *forward,
                            struct remat_trace *backward, remat_node *at,
                            struct remat_memory *memory)
{
    *memory = (struct remat_memory){.static_bytes = static_bytes(s)};
    remat_simulate_half(s, &x->forward, forward);
    memory->peak_nodes =
        (struct remat_nodes){at, remat_list_alive(s, forward->peak_step, at)};
    remat_simulate_half(s, &x->backward, backward);
    if (backward->peak > forward->peak)
        memory->peak_nodes.n = remat_list_alive(s, backward->peak_step, at);
    memory->peak_forward_bytes = forward->peak;
    memory->peak_backward_bytes = backward->peak;
    note_peaks(forward, memory);
    note_peaks(backward, memory);
    memory->forward = show(forward);
    memory->backward = show(backward);
}

enum remat_status remat_simulate(struct remat_work *w,
                                 const struct remat_extraction *x,
                                 struct remat_memory *memory,
                                 struct remat_error *err)
{
    struct remat_arena *arena = &w->job->arena;
    struct remat_simulator s;
    struct remat_trace forward;
    struct remat_trace backward;
    remat_node *at = REMAT_NEW_ARRAY(arena, remat_node, w->g->n);
    struct remat_mark mark;
    enum remat_status status;

    if (!remat_trace_init(w, &forward) || !remat_trace_init(w, &backward) ||
        at == NULL)
        return remat_job_no_memory(w->job, err);
    mark = remat_arena_mark(arena);
    status = remat_simulator_init(w, &s, err);
    if (status != REMAT_OK)
        return status;
    simulate_halves(&s, x, &forward, &backward, at, memory);
    remat_arena_rewind(arena, mark);
    return remat_job_spend(w->job, 2 * (uint64_t)w->users.begin[w->g->n],
                           "simulation", err);
}
