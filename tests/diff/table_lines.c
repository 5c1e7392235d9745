/*
 * table_lines: what the compiled-in operator table says. Reads a target a line,
 * prints its traits as words; with "dtype NAME" the bytes of an element, with
 * "save NAME" what a list of operators to save says about it, or "ok".
 */
#include "remat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    uint32_t bit;
    const char *text;
} traits[] = {
#define X(name, bit, text) {name, text},
    REMAT_TRAIT_MAP(X) REMAT_TABLE_TRAIT_MAP(X)
#undef X
};

/* A sealed graph of one call and an output; NULL if it is refused. */
static struct remat_job *graph_of(const char *target)
{
    struct remat_node_spec spec;
    struct remat_job *job = remat_job_new(NULL);

    memset(&spec, 0, sizeof spec);
    spec.name = "n";
    spec.target = target;
    spec.op = REMAT_CALL_FUNCTION;
    spec.alias_of = REMAT_NONE;
    if (job != NULL && remat_graph_add(job, &spec, NULL, NULL) == REMAT_OK) {
        spec.name = spec.target = "output";
        spec.op = REMAT_OUTPUT;
        if (remat_graph_add(job, &spec, NULL, NULL) == REMAT_OK &&
            remat_graph_seal(job, 0, NULL, 0, NULL) == REMAT_OK)
            return job;
    }
    remat_job_free(job);
    return NULL;
}

static void print_traits(const char *target)
{
    struct remat_job *job = graph_of(target);
    uint32_t found = job == NULL ? 0 : remat_node_traits(job, 0);

    for (size_t i = 0; i < sizeof traits / sizeof traits[0]; i++)
        if ((found & traits[i].bit) != 0)
            printf("%s ", traits[i].text);
    printf("\n");
    remat_job_free(job);
}

static void print_save(const char *target)
{
    const struct remat_save_entry entry = {target, 1};
    const struct remat_pass pass = {.kind = REMAT_PASS_SAC_POLICY,
                                    .save = &entry,
                                    .n_save = 1,
                                    .has_save = true,
                                    .otherwise = REMAT_PREFER_RECOMPUTE};
    struct remat_job *job = graph_of("mylib.call.default");
    struct remat_pass_report report;
    struct remat_error err = {.detail = "no memory"};

    if (job != NULL && remat_pass_apply(job, &pass, &report, &err) == REMAT_OK)
        printf("ok\n");
    else
        printf("%s\n", err.detail);
    remat_job_free(job);
}

int main(void)
{
    char line[1024];

    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "dtype ", 6) == 0)
            printf("%lld\n", (long long)remat_dtype_bytes(line + 6));
        else if (strncmp(line, "save ", 5) == 0)
            print_save(line + 5);
        else
            print_traits(line);
    }
    return EXIT_SUCCESS;
}
