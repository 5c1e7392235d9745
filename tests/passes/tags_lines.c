/*
 * tags_lines: passes over many graphs in one process, for tests.
 *
 * Reads a line {"graph", "passes"} on stdin and answers with a line: the tags
 * after the passes, what each pass changed and noted, the steps they took,
 * their allocations and the bytes they held at most beyond the graph; or the
 * status and detail of the pass that failed. "fail_at": n makes the n-th
 * allocation of the passes fail, "max_steps": n bounds them; after a failure
 * "restored" says whether the tags are as they were before that pass.
 *
 * The passes are handed to core as they are written, without proto's checks.
 */
#include "lines_graph.h"

#include <string.h>

#define MAP(name, text) [name] = text,
static const char *const policies[REMAT_N_POLICIES] = {REMAT_POLICY_MAP(MAP)};
#undef MAP

struct run {
    struct remat_job *job;
    struct remat_limits limits;
    long n_until_failure; /* allocations; 0: never */
    long n_allocations;
    size_t n_bytes;
    size_t peak_bytes;
    bool in_passes;
    json_t *reports;
    json_t *answer;
};

static void *allocate(void *context, size_t n_bytes)
{
    struct run *run = context;

    if (run->in_passes && ++run->n_allocations == run->n_until_failure)
        return NULL;
    run->n_bytes += n_bytes;
    if (run->n_bytes > run->peak_bytes)
        run->peak_bytes = run->n_bytes;
    return malloc(n_bytes);
}

static void release(void *context, void *chunk, size_t n_bytes)
{
    struct run *run = context;

    run->n_bytes -= n_bytes;
    free(chunk);
}

/* ---- input ---- */

static enum remat_policy policy_named(const char *name)
{
    for (int i = 1; name != NULL && i < REMAT_N_POLICIES; i++)
        if (strcmp(policies[i], name) == 0)
            return (enum remat_policy)i;
    return REMAT_UNTAGGED;
}

static enum remat_pass_kind kind_named(const char *name)
{
    static const char *const names[] = {"sac_policy",   "stage_recomputation",
                                        "autoparallel", "fsdp_all_gather",
                                        "repair_tags",  "set_tags"};
    int i = 0;

    while (i < 6 && strcmp(names[i], name) != 0)
        i++;
    return (enum remat_pass_kind)i;
}

static void read_save(struct run *run, json_t *list, struct remat_pass *pass)
{
    size_t n = json_array_size(list);
    struct remat_save_entry *save = remat_job_alloc(run->job, n, sizeof(*save));

    if (save == NULL)
        lines_broken("no memory");
    for (size_t i = 0; i < n; i++) {
        json_t *item = json_array_get(list, i);
        json_t *every = json_object_get(item, "every");

        save[i].target = json_string_value(
            json_is_string(item) ? item : json_object_get(item, "op"));
        save[i].every = every == NULL ? 1 : (uint32_t)json_integer_value(every);
    }
    pass->has_save = list != NULL;
    pass->save = save;
    pass->n_save = (uint32_t)n;
}

/* A node that is not there is number 2^32 - 1, a policy number 99. */
static void read_tags(struct run *run, json_t *tags, struct remat_pass *pass)
{
    size_t n = json_object_size(tags);
    struct remat_set_tag *set = remat_job_alloc(run->job, n, sizeof(*set));
    const char *name;
    json_t *tag;

    if (set == NULL)
        lines_broken("no memory");
    pass->tags = set;
    pass->n_tags = (uint32_t)n;
    json_object_foreach (tags, name, tag) {
        json_t *region = json_array_get(tag, 1);
        const char *policy = json_string_value(
            json_is_array(tag) ? json_array_get(tag, 0) : tag);

        set->node = remat_graph_find(run->job, name);
        set->tag.policy = policy_named(policy);
        if (policy != NULL && set->tag.policy == REMAT_UNTAGGED)
            set->tag.policy = (enum remat_policy)99;
        set->tag.has_region = json_is_integer(region);
        set->tag.region = json_integer_value(region);
        set->keeps_region = json_is_string(tag);
        set++;
    }
}

static struct remat_pass read_pass(struct run *run, json_t *json)
{
    json_t *size = json_object_get(json, "stage_size_gib");
    struct remat_pass pass = {
        .kind = kind_named(json_string_value(json_object_get(json, "pass"))),
        .otherwise =
            policy_named(json_string_value(json_object_get(json, "otherwise"))),
        .modules = json_string_value(json_object_get(json, "modules")),
        .reshard_after_forward =
            json_is_true(json_object_get(json, "reshard_after_forward")),
    };

    if (json_is_string(size)) {
        pass.stage = REMAT_STAGE_AUTO;
    } else if (json_is_number(size)) {
        pass.stage = REMAT_STAGE_GIB;
        pass.stage_size_gib = json_number_value(size);
    }
    read_save(run, json_object_get(json, "save"), &pass);
    read_tags(run, json_object_get(json, "tags"), &pass);
    return pass;
}

/* ---- output ---- */

static json_t *name_of(const struct run *run, remat_node v)
{
    return v == REMAT_NONE ? json_null()
                           : json_string(remat_graph_node(run->job, v)->name);
}

static json_t *tag_json(struct remat_tag tag)
{
    if (tag.policy == REMAT_UNTAGGED)
        return json_null();
    return json_pack("[so]", policies[tag.policy],
                     tag.has_region ? json_integer(tag.region) : json_null());
}

static json_t *tags_json(const struct run *run)
{
    json_t *tags = json_object();

    for (remat_node v = 0; v < remat_graph_n_nodes(run->job); v++) {
        bool has_region;
        int64_t region;
        enum remat_policy policy =
            remat_graph_tag(run->job, v, &has_region, &region);

        if (policy != REMAT_UNTAGGED)
            json_object_set_new(
                tags, remat_graph_node(run->job, v)->name,
                tag_json((struct remat_tag){policy, has_region, region}));
    }
    return tags;
}

static void add_report(struct run *run, const struct remat_pass_report *report)
{
    json_t *changes = json_array();
    json_t *notes = json_array();

    for (uint32_t i = 0; i < report->n_changes; i++) {
        const struct remat_tag_change *c = &report->changes[i];

        json_array_append_new(changes, json_pack("[ooo]", name_of(run, c->node),
                                                 tag_json(c->before),
                                                 tag_json(c->after)));
    }
    for (uint32_t i = 0; i < report->n_diagnostics; i++) {
        const struct remat_diagnostic *d = &report->diagnostics[i];

        json_array_append_new(
            notes,
            json_pack("[sos]", d->code, name_of(run, d->node), d->message));
    }
    json_array_append_new(run->reports, json_pack("{soso}", "changes", changes,
                                                  "diagnostics", notes));
}

/* ---- one line ---- */

static bool apply(struct run *run, json_t *json)
{
    struct remat_pass pass = read_pass(run, json);
    struct remat_pass_report report;
    struct remat_error err = {.node = REMAT_NONE};
    json_t *before = tags_json(run);
    json_t *after;
    enum remat_status status;

    run->in_passes = true;
    status = remat_pass_apply(run->job, &pass, &report, &err);
    run->in_passes = false;
    after = tags_json(run);
    if (status == REMAT_OK)
        add_report(run, &report);
    else
        run->answer = json_pack(
            "{sssssssosb}", "status", remat_status_code(status), "cause",
            remat_status_code(err.status), "detail", err.detail, "node",
            name_of(run, err.node), "restored", json_equal(before, after));
    json_decref(before);
    json_decref(after);
    return status == REMAT_OK;
}

static json_t *answer_line(json_t *line)
{
    struct run run = {.reports = json_array()};
    json_t *passes = json_object_get(line, "passes");
    size_t graph_bytes;
    uint64_t n_steps;
    json_t *pass;
    size_t i;
    bool done = true;

    run.n_until_failure =
        (long)json_integer_value(json_object_get(line, "fail_at"));
    run.limits = (struct remat_limits){.n_steps = (uint64_t)json_integer_value(
                                           json_object_get(line, "max_steps")),
                                       .allocate = allocate,
                                       .release = release,
                                       .context = &run};
    run.job = remat_job_new(&run.limits);
    if (run.job == NULL)
        lines_broken("no memory");
    json_object_del(line, "fail_at");
    json_object_del(line, "max_steps");
    lines_decode_graph(run.job, line);
    n_steps = remat_job_steps(run.job);
    graph_bytes = run.peak_bytes;
    json_array_foreach (passes, i, pass)
        done = done && apply(&run, pass);
    n_steps = remat_job_steps(run.job) - n_steps;
    if (done)
        run.answer =
            json_pack("{sosOsIsIsI}", "tags", tags_json(&run), "passes",
                      run.reports, "steps", (json_int_t)n_steps, "allocations",
                      (json_int_t)run.n_allocations, "bytes",
                      (json_int_t)(run.peak_bytes - graph_bytes));
    json_decref(run.reports);
    remat_job_free(run.job);
    return run.answer;
}

int main(void)
{
    return lines_run(answer_line);
}
