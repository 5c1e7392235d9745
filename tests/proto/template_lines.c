/*
 * template_lines: what requests share, for tests.
 *
 * Reads "CALL BODY\n" on stdin (CALL: plan or frontier), solves each, and where
 * a request before it had the same structure makes the answer from that one's
 * template too. Says "KIND DIGEST STRUCTURE HOW\n" on stdout; HOW is new,
 * mapped (the template gave the bytes that the solver gave) or broken.
 */
#include "proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known {
    struct known *next;
    unsigned char structure[PROTO_STRUCTURE_BYTES];
    char *bytes;
    size_t length;
};

static struct known *all_known;

static const struct known *find(const unsigned char *structure)
{
    const struct known *k = all_known;

    while (k != NULL && memcmp(k->structure, structure, sizeof(k->structure)))
        k = k->next;
    return k;
}

/* With a context: hand out what is known. */
static enum proto_found look_up(void *context,
                                const struct proto_identity *identity,
                                struct proto_known *known)
{
    const struct known *k = find(identity->structure);

    if (context == NULL || k == NULL)
        return PROTO_SOLVE;
    *known = (struct proto_known){k->bytes, k->length};
    return PROTO_KNOWN_TEMPLATE;
}

static void ask(char *line, size_t length, bool maps,
                struct proto_answer *answer)
{
    struct proto_env env = {.look_up = look_up,
                            .context = maps ? &all_known : NULL};
    const char *body = strchr(line, ' ') + 1;
    struct proto_request request = {.body = body,
                                    .length = length - (size_t)(body - line)};

    proto_limits_init(&env.limits);
    if (line[0] == 'f')
        proto_frontier(&env, &request, answer);
    else
        proto_plan(&env, &request, answer);
}

/* Takes the template over. */
static bool keep(struct proto_answer *answer)
{
    struct known *k = malloc(sizeof(*k));

    if (k == NULL)
        return false;
    memcpy(k->structure, answer->structure, sizeof(k->structure));
    k->bytes = answer->template_bytes;
    k->length = answer->template_length;
    k->next = all_known;
    answer->template_bytes = NULL;
    all_known = k;
    return true;
}

static bool is_mapped(char *line, size_t length,
                      const struct proto_answer *fresh)
{
    struct proto_answer answer;
    bool is_same;

    ask(line, length, true, &answer);
    is_same = answer.is_filled && fresh->body != NULL &&
              answer.result == fresh->result &&
              answer.length == fresh->length &&
              memcmp(answer.body, fresh->body, fresh->length) == 0 &&
              strcmp(answer.outcome, fresh->outcome) == 0;
    proto_answer_release(&answer);
    return is_same;
}

static bool answer_line(char *line, size_t length)
{
    struct proto_answer answer;
    const char *how = "new";
    bool is_kept = true;

    ask(line, length, false, &answer);
    if (find(answer.structure) != NULL)
        how = is_mapped(line, length, &answer) ? "mapped" : "broken";
    else if (answer.template_bytes != NULL)
        is_kept = keep(&answer);
    printf("%s %s ",
           answer.result == PROTO_PROBLEM ? "problem" : answer.outcome,
           answer.digest[0] == '\0' ? "-" : answer.digest);
    for (size_t i = 0; i < sizeof(answer.structure); i++)
        printf("%02x", answer.structure[i]);
    printf(" %s\n", how);
    proto_answer_release(&answer);
    return is_kept && fflush(stdout) == 0;
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    bool is_fine = true;

    proto_start();
    while (is_fine && (length = getline(&line, &capacity, stdin)) > 0)
        is_fine =
            strchr(line, ' ') != NULL && answer_line(line, (size_t)length);
    free(line);
    while (all_known != NULL) {
        struct known *k = all_known;

        all_known = k->next;
        proto_free(k->bytes);
        free(k);
    }
    return is_fine ? 0 : 1;
}
