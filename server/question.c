/*
 * question.c: see question.h.
 */
#include "question.h"

#include <stdlib.h>
#include <string.h>

#include "query.h"

/* The value of a name that the query may leave out: then it stays "". */
static bool read_value(const char *query, const char *name, char *value,
                       size_t n_value, struct proto_problem *problem)
{
    if (!srv_query_has(query, name))
        return true;
    if (!srv_query_value(query, name, value, n_value))
        proto_problem_set(
            problem, PROTO_BAD_REQUEST, NULL,
            "%s: a value as in a form, with %%XX for what may not "
            "stand in a query",
            name);
    else if (!srv_query_is_utf8(value))
        proto_problem_set(problem, PROTO_BAD_REQUEST, NULL,
                          "%s: not UTF-8 when decoded", name);
    else if (value[0] == '\0')
        proto_problem_set(problem, PROTO_BAD_REQUEST, NULL,
                          "%s: empty; give it a value or leave it out", name);
    return problem->kind == PROTO_NO_PROBLEM;
}

/* The name of a node, as long as it is. */
static bool read_name(const char *query, const char *name,
                      struct srv_question *question,
                      struct proto_problem *problem)
{
    const size_t size = strlen(query) + 1;

    question->node = calloc(size, 1);
    if (question->node != NULL)
        return read_value(query, name, question->node, size, problem);
    proto_problem_set(problem, PROTO_OUT_OF_MEMORY, NULL,
                      "no memory for the name of a node");
    return false;
}

static bool read_node(const char *query, struct srv_question *question,
                      struct proto_problem *problem)
{
    if (!read_name(query, "name", question, problem))
        return false;
    if (question->node[0] == '\0')
        proto_problem_set(problem, PROTO_BAD_REQUEST, NULL,
                          "name: which node to explain, as in ?name=mm_3");
    return problem->kind == PROTO_NO_PROBLEM;
}

/* Which values go together is for proto to say. */
static bool read_export(const char *query, struct srv_question *question,
                        struct proto_problem *problem)
{
    return read_value(query, "as", question->as, sizeof question->as,
                      problem) &&
           read_name(query, "around", question, problem) &&
           read_value(query, "depth", question->depth, sizeof question->depth,
                      problem);
}

/* style=file or fragment. */
static bool read_style(const char *query, struct srv_question *question,
                       struct proto_problem *problem)
{
    char word[16] = "file";

    if (srv_query_has(query, "style") &&
        !srv_query_value(query, "style", word, sizeof word))
        word[0] = '\0';
    if (strcmp(word, "fragment") == 0)
        question->style = PROTO_REPORT_FRAGMENT;
    else if (strcmp(word, "file") == 0)
        question->style = PROTO_REPORT_FILE;
    else
        proto_problem_set(problem, PROTO_BAD_REQUEST, NULL,
                          "style: file or fragment");
    return problem->kind == PROTO_NO_PROBLEM;
}

static bool read_all(enum srv_call call, const char *query,
                     struct srv_question *question,
                     struct proto_problem *problem)
{
    if (call == SRV_CALL_JOB_NODE)
        return read_node(query, question, problem);
    if (call == SRV_CALL_JOB_REPORT)
        return read_style(query, question, problem);
    return call != SRV_CALL_JOB_EXPORT || read_export(query, question, problem);
}

void srv_question_release(struct srv_question *question)
{
    free(question->node);
    question->node = NULL;
}

bool srv_question_read(enum srv_call call, const char *query,
                       struct srv_question *question,
                       struct proto_problem *problem)
{
    *question = (struct srv_question){.style = PROTO_REPORT_FILE};
    if (read_all(call, query, question, problem))
        return true;
    srv_question_release(question);
    return false;
}

bool srv_question_key(const struct srv_question_of *of,
                      const struct srv_question *question, struct srv_key *key)
{
    const char *const texts[] = {
        "about",
        of->owner,
        srv_call_name(of->call),
        of->format == PROTO_TEXT ? "text" : "json",
        of->job_id,
        question->node == NULL ? "" : question->node,
        question->as,
        question->depth,
        question->style == PROTO_REPORT_FILE ? "file" : "fragment"};

    return srv_key_of(texts, sizeof texts / sizeof texts[0], key);
}
