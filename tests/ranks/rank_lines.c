/*
 * rank_lines: rank agreement over many groups in one process, for tests.
 *
 * Reads a line on stdin and answers with a line:
 *   {"key", "bodies": [request, ...]}  opens the requests in this order,
 * sharing documents by name, and decides: {"answers": [text, ...] in the order
 * of the bodies, "decided_by", "worst", "documents", "bytes"}, or {"problem":
 *       {"code", "detail"}, "at": body or null}
 *   {"graphs": [graph, graph], "modules"}  compares structures: {"same",
 *       "pairs": [[name, name], ...] by place, "difference": {"nodes", "what",
 *       "where"} or null}
 * "fail_at": n makes the n-th allocation of the line fail, "max_steps" bounds
 * each request.
 */
#include "lines_graph.h"

#include <string.h>

/* ---- groups ------------------------------------------------------------- */

struct group {
    struct proto_env env;
    struct proto_rank *ranks;
    uint32_t n;
    struct proto_rank_document **documents;
    uint32_t n_documents;
};

static enum proto_found find(void *context, const char *name,
                             const struct proto_rank *rank,
                             struct proto_rank_document **document)
{
    struct group *group = context;

    (void)rank;
    for (uint32_t i = 0; i < group->n_documents; i++)
        if (strcmp(proto_rank_document_name(group->documents[i]), name) == 0) {
            *document = group->documents[i];
            return PROTO_KNOWN_ANSWER;
        }
    return PROTO_SOLVE;
}

static json_t *problem_json(const struct proto_problem *problem, json_t *at)
{
    return json_pack("{s{ssssss}so}", "problem", "code",
                     proto_problem_code(problem->kind), "detail",
                     problem->detail, "pointer", problem->pointer, "at", at);
}

static json_t *open_all(struct group *group, json_t *bodies)
{
    const struct proto_rank_finder finder = {find, group};
    json_t *problem = NULL;
    json_t *body;
    size_t i;

    json_array_foreach (bodies, i, body) {
        char *text = json_is_string(body)
                         ? strdup(json_string_value(body))
                         : json_dumps(body, JSON_COMPACT | JSON_ENCODE_ANY);
        const struct proto_request request = {.body = text,
                                              .length = strlen(text)};
        struct proto_answer answer;
        struct proto_rank *rank = &group->ranks[i];

        proto_rank_open(&group->env, &request, &finder, rank, &answer);
        if (answer.result == PROTO_PROBLEM)
            problem =
                problem_json(&answer.problem, json_integer((json_int_t)i));
        else if (answer.result != PROTO_KNOWN)
            group->documents[group->n_documents++] = rank->document;
        proto_answer_release(&answer);
        free(text);
        if (problem != NULL)
            return problem;
        group->n++;
    }
    return NULL;
}

static json_t *answers_json(const struct group *group,
                            const struct proto_rank_verdict *verdict)
{
    json_t *answers = json_array();

    for (uint32_t i = 0; i < group->n; i++)
        for (uint32_t k = 0; k < verdict->n_answers; k++)
            if (verdict->answers[k].document == group->ranks[i].document)
                json_array_append_new(answers,
                                      json_string(verdict->answers[k].body));
    return answers;
}

static json_t *decide(struct group *group, const char *key)
{
    const struct proto_rank_group all = {key, group->ranks, group->n};
    struct proto_rank_verdict verdict;
    size_t n_bytes = 0;
    json_t *out;

    proto_ranks_decide(&group->env, &all, &verdict);
    for (uint32_t i = 0; i < group->n_documents; i++)
        n_bytes += proto_rank_document_bytes(group->documents[i]);
    if (verdict.problem.kind != PROTO_NO_PROBLEM)
        out = problem_json(&verdict.problem, json_null());
    else
        out = json_pack("{sosososIsI}", "answers",
                        answers_json(group, &verdict), "decided_by",
                        verdict.has_decision ? json_integer(verdict.decided_by)
                                             : json_null(),
                        "worst",
                        verdict.has_decision
                            ? json_integer(verdict.worst_saved_bytes)
                            : json_null(),
                        "documents", (json_int_t)verdict.n_answers, "bytes",
                        (json_int_t)n_bytes);
    proto_rank_verdict_release(&verdict);
    return out;
}

static json_t *agree(json_t *line)
{
    json_t *bodies = json_object_get(line, "bodies");
    size_t n = json_array_size(bodies);
    struct group group = {.ranks = calloc(n + 1, sizeof(*group.ranks)),
                          .documents = calloc(n + 1, sizeof(*group.documents))};
    json_t *out;

    if (group.ranks == NULL || group.documents == NULL)
        lines_broken("no memory");
    proto_limits_init(&group.env.limits);
    if (json_object_get(line, "max_steps") != NULL)
        group.env.limits.n_steps =
            (uint64_t)json_integer_value(json_object_get(line, "max_steps"));
    proto_fail_at =
        (uint64_t)json_integer_value(json_object_get(line, "fail_at"));
    out = open_all(&group, bodies);
    if (out == NULL)
        out = decide(&group, json_string_value(json_object_get(line, "key")));
    proto_fail_at = 0;
    for (uint32_t i = 0; i < group.n_documents; i++)
        proto_rank_document_free(group.documents[i]);
    free(group.documents);
    free(group.ranks);
    return out;
}

/* ---- structures --------------------------------------------------------- */

static struct remat_job *read_graph(json_t *graph)
{
    struct remat_job *job = remat_job_new(NULL);

    if (job == NULL)
        lines_broken("no memory");
    lines_decode_graph(job, graph);
    return job;
}

static json_t *name_of(const struct remat_job *job, remat_node v)
{
    return v == REMAT_NONE ? json_null()
                           : json_string(remat_graph_node(job, v)->name);
}

static json_t *difference_json(struct remat_job *jobs[2], bool with_modules)
{
    struct remat_error err = {.node = REMAT_NONE};
    struct remat_difference d;

    if (remat_structure_differ(jobs[0], jobs[1], with_modules, &d, &err) !=
        REMAT_OK)
        lines_broken(err.detail);
    if (!d.found)
        return json_null();
    return json_pack("{s[oo]ssss}", "nodes", name_of(jobs[0], d.node[0]),
                     name_of(jobs[1], d.node[1]), "what", d.what, "where",
                     d.where);
}

static json_t *compare(json_t *line)
{
    json_t *graphs = json_object_get(line, "graphs");
    bool with_modules = json_is_true(json_object_get(line, "modules"));
    struct remat_job *jobs[2] = {read_graph(json_array_get(graphs, 0)),
                                 read_graph(json_array_get(graphs, 1))};
    struct remat_structure structures[2];
    json_t *pairs = json_array();
    json_t *difference;
    bool is_same;

    for (int i = 0; i < 2; i++) {
        struct remat_error err = {.node = REMAT_NONE};

        if (remat_structure_find(jobs[i], with_modules, &structures[i], &err) !=
            REMAT_OK)
            lines_broken(err.detail);
    }
    is_same = structures[0].print[0] == structures[1].print[0] &&
              structures[0].print[1] == structures[1].print[1];
    for (uint32_t i = 0; is_same && i < remat_graph_n_nodes(jobs[0]); i++)
        json_array_append_new(
            pairs, json_pack("[oo]", name_of(jobs[0], structures[0].order[i]),
                             name_of(jobs[1], structures[1].order[i])));
    difference = difference_json(jobs, with_modules);
    remat_job_free(jobs[0]);
    remat_job_free(jobs[1]);
    return json_pack("{sbsoso}", "same", is_same, "pairs", pairs, "difference",
                     difference);
}

static json_t *answer_line(json_t *line)
{
    return json_object_get(line, "graphs") != NULL ? compare(line)
                                                   : agree(line);
}

int main(void)
{
    proto_start();
    return lines_run(answer_line);
}
