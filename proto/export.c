/*
 * export.c: a request whose answer is for other tools: decode, solve, and the
 * network of the last cut or PyTorch's trace of it.
 *
 *   find_near    which nodes are near another
 *   find_states  what became of each
 *   draw         both, and a network of them
 */
#include "export.h"

#include "run.h"

#include <string.h>

static const struct {
    const char *word;
    const char *media_type;
} formats[] = {
#define X(name, word, type) [name] = {word, type},
    PROTO_EXPORT_MAP(X)
#undef X
};
enum {
    N_FORMATS = sizeof formats / sizeof formats[0],
    PROTO_EXPORT_DEPTH = 2
};

static bool find_format(const char *word, enum proto_export_as *as)
{
    for (size_t i = 0; i < N_FORMATS; i++) {
        if (strcmp(formats[i].word, word) != 0)
            continue;
        *as = (enum proto_export_as)i;
        return true;
    }
    return false;
}

const char *proto_export_media_type(const char *as)
{
    enum proto_export_as found;

    return as != NULL && find_format(as, &found) ? formats[found].media_type
                                                 : NULL;
}

/* ---- what is shown ----------------------------------------------------- */

/* The neighbours of each node in the network, either way. */
struct neighbours {
    uint32_t *begin; /* by node; the last one ends at begin[n] */
    remat_node *at;
};

static bool joins_nodes(const struct remat_network_view *net,
                        const struct remat_edge *edge)
{
    remat_node from = net->node[edge->from];
    remat_node to = net->node[edge->to];

    return from != REMAT_NONE && to != REMAT_NONE && from != to;
}

/* Counts, then places: begin[v + 2] counts, so that begin[v + 1] can run from
 * the beginning of v's row to its end. */
static bool list_neighbours(struct remat_job *job,
                            const struct remat_network_view *net,
                            struct neighbours *list)
{
    uint32_t n = remat_graph_n_nodes(job);

    list->begin = remat_job_alloc(job, (size_t)n + 2, sizeof(*list->begin));
    list->at =
        remat_job_alloc(job, (size_t)net->n_edges * 2, sizeof(*list->at));
    if (list->begin == NULL || list->at == NULL)
        return false;
    for (uint32_t e = 0; e < net->n_edges; e++) {
        if (!joins_nodes(net, &net->edges[e]))
            continue;
        list->begin[net->node[net->edges[e].from] + 2]++;
        list->begin[net->node[net->edges[e].to] + 2]++;
    }
    for (uint32_t v = 2; v <= n + 1; v++)
        list->begin[v] += list->begin[v - 1];
    for (uint32_t e = 0; e < net->n_edges; e++) {
        remat_node from = net->node[net->edges[e].from];
        remat_node to = net->node[net->edges[e].to];

        if (!joins_nodes(net, &net->edges[e]))
            continue;
        list->at[list->begin[from + 1]++] = to;
        list->at[list->begin[to + 1]++] = from;
    }
    return true;
}

/* The nodes at most `depth` edges away from `middle`; NULL without memory. */
static const bool *find_near(struct remat_job *job,
                             const struct remat_network_view *net,
                             remat_node middle, uint32_t depth)
{
    uint32_t n = remat_graph_n_nodes(job);
    bool *near = remat_job_alloc(job, n, sizeof(*near));
    remat_node *queue = remat_job_alloc(job, n, sizeof(*queue));
    struct neighbours list = {0};
    uint32_t n_queued = 0;
    uint32_t done = 0;

    if (near == NULL || queue == NULL || !list_neighbours(job, net, &list))
        return NULL;
    near[middle] = true;
    queue[n_queued++] = middle;
    for (uint32_t far = 0; far < depth && done < n_queued; far++)
        for (uint32_t end = n_queued; done < end; done++)
            for (uint32_t i = list.begin[queue[done]];
                 i < list.begin[queue[done] + 1]; i++) {
                if (near[list.at[i]])
                    continue;
                near[list.at[i]] = true;
                queue[n_queued++] = list.at[i];
            }
    return near;
}

/* ---- what became of the nodes ------------------------------------------ */

static void mark(uint8_t *state, struct remat_nodes nodes,
                 enum proto_state value)
{
    for (uint32_t i = 0; i < nodes.n; i++)
        state[nodes.at[i]] = (uint8_t)value;
}

static const uint8_t *find_states(struct remat_job *job,
                                  const struct remat_plan *plan)
{
    uint8_t *state =
        remat_job_alloc(job, remat_graph_n_nodes(job), sizeof(*state));

    if (state == NULL)
        return NULL;
    mark(state, plan->recomputed, PROTO_STATE_RECOMPUTED);
    mark(state, plan->saved, PROTO_STATE_SAVED);
    mark(state, plan->saved_sym, PROTO_STATE_SAVED);
    mark(state, plan->saved_opaque, PROTO_STATE_SAVED);
    return state;
}

/* ---- a request --------------------------------------------------------- */

struct exporting {
    struct proto_run run;
    const struct proto_export_params *params;
    enum proto_export_as as;
    uint32_t depth;
    remat_node around;
};

static bool refuse(struct exporting *x, const char *parameter,
                   const char *value, const char *expected)
{
    proto_problem_set(&x->run.answer->problem, PROTO_BAD_REQUEST, NULL,
                      "%s: %s%s%s, expected %s", parameter,
                      value == NULL ? "" : "\"",
                      value == NULL ? "it is missing" : value,
                      value == NULL ? "" : "\"", expected);
    return false;
}

static bool refuse_words(struct exporting *x, const char *words)
{
    proto_problem_set(&x->run.answer->problem, PROTO_BAD_REQUEST, NULL, "%s",
                      words);
    return false;
}

/* A decimal number of up to nine digits. */
static bool read_depth(const char *digits, uint32_t *depth)
{
    size_t n = strspn(digits, "0123456789");

    if (n == 0 || n > 9 || digits[n] != '\0')
        return false;
    *depth = 0;
    for (size_t i = 0; i < n; i++)
        *depth = *depth * 10 + (uint32_t)(digits[i] - '0');
    return true;
}

static bool check_params(struct exporting *x)
{
    const struct proto_export_params *p = x->params;

    if (p->as == NULL || !find_format(p->as, &x->as))
        return refuse(x, "as", p->as, "min-cut-information, dot or dimacs");
    if (p->around != NULL && x->as == PROTO_EXPORT_MIN_CUT)
        return refuse_words(x, "min-cut-information is about a whole graph, "
                               "leave around and depth out");
    if (p->depth == NULL)
        return true;
    if (p->around == NULL)
        return refuse_words(x, "depth is how far from a node, name it in "
                               "around");
    return read_depth(p->depth, &x->depth) ||
           refuse(x, "depth", p->depth, "a number from 0 to 999999999");
}

static bool find_around(struct exporting *x)
{
    const char *name = x->params->around;
    const char *nearest;

    x->around = REMAT_NONE;
    if (name == NULL)
        return true;
    x->around = remat_graph_find(x->run.job, name);
    if (x->around != REMAT_NONE)
        return true;
    nearest = proto_nearest_node(x->run.job, name);
    proto_problem_set(&x->run.answer->problem, PROTO_NOT_FOUND, NULL,
                      "the graph has no node \"%.300s\"%s%.300s%s", name,
                      nearest == NULL ? "" : ", did you mean ",
                      nearest == NULL ? "" : nearest,
                      nearest == NULL ? "" : "?");
    return false;
}

static bool draw(struct exporting *x, struct proto_text *text,
                 const struct proto_decision *decision)
{
    const struct remat_plan *plan = decision->plan;
    struct proto_drawing drawing = {.decision = decision,
                                    .network = plan->network,
                                    .around = x->params->around,
                                    .depth = x->depth,
                                    .state = find_states(x->run.job, plan)};

    if (drawing.state == NULL)
        return false;
    if (x->around != REMAT_NONE && plan->network != NULL) {
        drawing.shown =
            find_near(x->run.job, plan->network, x->around, x->depth);
        if (drawing.shown == NULL)
            return false;
    }
    if (x->as == PROTO_EXPORT_DOT)
        proto_export_dot(text, &drawing);
    else
        proto_export_dimacs(text, &drawing);
    return true;
}

static bool refuse_trace(struct exporting *x, const struct remat_plan *plan)
{
    proto_problem_set(&x->run.answer->problem, PROTO_INVALID_GRAPH, NULL,
                      "there is no plan for this graph (%s), and so no "
                      "min-cut-information: ask for the plan, which says why, "
                      "or for dot",
                      proto_outcome_name(plan->outcome));
    return false;
}

static void encode(struct exporting *x, const struct remat_plan *plan)
{
    struct proto_answer *answer = x->run.answer;
    const struct proto_decision decision = {.job = x->run.job,
                                            .plan = plan,
                                            .notes = &x->run.notes,
                                            .name = x->run.name,
                                            .digest = x->run.names.digest,
                                            .explain = x->run.options.explain,
                                            .passes = &x->run.passes};
    bool is_trace = x->as == PROTO_EXPORT_MIN_CUT;
    struct proto_text text;
    bool done = true;

    if (is_trace && plan->outcome != REMAT_PLAN && !refuse_trace(x, plan))
        return;
    proto_text_init(&text, &x->run.budget);
    if (is_trace)
        proto_export_min_cut(&text, &decision, &x->run.options);
    else
        done = draw(x, &text, &decision);
    answer->body = done ? proto_text_take(&text, &answer->length) : NULL;
    proto_text_release(&text);
    if (answer->body == NULL) {
        proto_decode_no_memory(&answer->problem, &x->run.budget);
        return;
    }
    answer->outcome = proto_outcome_name(plan->outcome);
    answer->result = plan->outcome == REMAT_PLAN ? PROTO_PLAN : PROTO_NO_PLAN;
}

void proto_export(const struct proto_env *env,
                  const struct proto_request *request,
                  const struct proto_export_params *params,
                  struct proto_answer *answer)
{
    /* A text answer has no template, and an export is not shared. */
    struct proto_request plain = *request;
    struct proto_env alone = *env;
    struct exporting x = {.run = {.env = &alone,
                                  .request = &plain,
                                  .answer = answer,
                                  .kind = PROTO_CALL_PLAN},
                          .params = params,
                          .depth = PROTO_EXPORT_DEPTH};
    const struct remat_plan *plan = NULL;

    plain.format = PROTO_TEXT;
    alone.look_up = NULL;
    proto_run_begin(&x.run);
    if (check_params(&x) && proto_run_decode(&x.run) && find_around(&x) &&
        proto_run_passes(&x.run) && proto_run_solve(&x.run, &plan)) {
        proto_watch_enter(&x.run.watch, PROTO_PHASE_ENCODE);
        encode(&x, plan);
    }
    proto_run_end(&x.run);
}
