/*
 * whatif_lines: questions about nodes, changes and differences in one process,
 * for tests.
 *
 * Reads a line {"call", "body"} on stdin, body a plan request or the envelope
 * of a what-if; with "name" (call "node"), "other" (call "diff"), "format"
 * ("text"), "max_steps", "memory". Answers with a line: {"result", "outcome",
 * "digest", "structure", "steps", "body"}, body as text, or {"problem": ...}.
 */
#include "proto.h"

#include "lines.h"

#include <string.h>

static char *dump(json_t *json)
{
    char *text = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);

    if (text == NULL)
        lines_broken("no body");
    return text;
}

static enum proto_found look(void *context,
                             const struct proto_identity *identity,
                             struct proto_known *known)
{
    static const char junk[] = "no template";

    (void)context;
    (void)identity;
    *known = (struct proto_known){junk, sizeof(junk) - 1};
    return PROTO_KNOWN_TEMPLATE;
}

static void ask(json_t *line, const struct proto_env *env,
                const struct proto_request *request,
                struct proto_answer *answer)
{
    const char *call = json_string_value(json_object_get(line, "call"));
    struct proto_request other = {.format = request->format};
    char *text = NULL;

    if (strcmp(call, "node") == 0) {
        proto_node(env, request,
                   json_string_value(json_object_get(line, "name")), answer);
    } else if (strcmp(call, "what-if") == 0) {
        proto_what_if(env, request, answer);
    } else if (strcmp(call, "plan") == 0) {
        proto_plan(env, request, answer);
    } else {
        text = dump(json_object_get(line, "other"));
        other.body = text;
        other.length = strlen(text);
        proto_diff(env, request, &other, answer);
    }
    free(text);
}

static json_t *describe(const struct proto_answer *answer)
{
    static const char *const results[] = {[PROTO_PLAN] = "plan",
                                          [PROTO_NO_PLAN] = "no-plan",
                                          [PROTO_PROBLEM] = "problem",
                                          [PROTO_KNOWN] = "known",
                                          [PROTO_DEFERRED] = "deferred"};
    char structure[2 * PROTO_STRUCTURE_BYTES + 1] = "";
    char *problem;
    json_t *json;

    if (answer->result == PROTO_PROBLEM) {
        problem = proto_problem_encode(&answer->problem, NULL);
        json = json_pack("{so}", "problem", json_loads(problem, 0, NULL));
        proto_free(problem);
        return json;
    }
    for (size_t i = 0; i < PROTO_STRUCTURE_BYTES; i++)
        snprintf(structure + 2 * i, 3, "%02x", answer->structure[i]);
    return json_pack("{sssssssssIss#}", "result", results[answer->result],
                     "outcome", answer->outcome, "digest", answer->digest,
                     "structure", structure, "steps",
                     (json_int_t)answer->n_steps, "body", answer->body,
                     answer->length);
}

static json_t *answer_line(json_t *line)
{
    struct proto_env env = {.look_up = look};
    struct proto_request request = {
        .format =
            json_object_get(line, "format") == NULL ? PROTO_JSON : PROTO_TEXT};
    json_int_t max_steps =
        json_integer_value(json_object_get(line, "max_steps"));
    json_int_t memory = json_integer_value(json_object_get(line, "memory"));
    char *body = dump(json_object_get(line, "body"));
    struct proto_answer answer;
    json_t *json;

    proto_limits_init(&env.limits);
    if (max_steps > 0)
        env.limits.n_steps = (uint64_t)max_steps;
    if (memory > 0)
        env.limits.memory_bytes = (size_t)memory;
    request.body = body;
    request.length = strlen(body);
    ask(line, &env, &request, &answer);
    json = describe(&answer);
    if (json == NULL)
        lines_broken("an answer that is no text");
    proto_answer_release(&answer);
    free(body);
    return json;
}

int main(void)
{
    proto_start();
    return lines_run(answer_line);
}
