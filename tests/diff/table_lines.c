/*
 * table_lines: what the compiled-in operator table says. Reads a target a line,
 * prints its traits as words; with "dtype NAME" the bytes of an element.
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

static uint32_t traits_of(const char *target)
{
    struct remat_node_spec spec;
    struct remat_job *job = remat_job_new(NULL);
    uint32_t found = 0;

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
            found = remat_node_traits(job, 0);
    }
    remat_job_free(job);
    return found;
}

int main(void)
{
    char line[1024];

    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "dtype ", 6) == 0) {
            printf("%lld\n", (long long)remat_dtype_bytes(line + 6));
            continue;
        }
        uint32_t found = traits_of(line);

        for (size_t i = 0; i < sizeof traits / sizeof traits[0]; i++)
            if ((found & traits[i].bit) != 0)
                printf("%s ", traits[i].text);
        printf("\n");
    }
    return EXIT_SUCCESS;
}
