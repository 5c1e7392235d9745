/*
 * documents.h: what every suite of proto needs: files, folders and one request
 * after another. Everything is found from the top of the source tree, where the
 * suites are run.
 */
#ifndef DOCUMENTS_H
#define DOCUMENTS_H

#include "proto.h"

#include <check.h>
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of a stream, NUL behind it; the caller frees. */
static inline char *read_stream(FILE *stream, const char *what, size_t *length)
{
    size_t capacity = 1 << 16;
    size_t n = 0;
    char *text = malloc(capacity);
    size_t got;

    ck_assert_msg(stream != NULL, "%s: cannot open", what);
    while ((got = fread(text + n, 1, capacity - n - 1, stream)) > 0) {
        n += got;
        if (capacity - n < 2)
            text = realloc(text, capacity *= 2);
        ck_assert_ptr_nonnull(text);
    }
    text[n] = '\0';
    if (length != NULL)
        *length = n;
    return text;
}

static inline char *read_text(const char *path, size_t *length)
{
    FILE *stream = fopen(path, "rb");
    char *text = read_stream(stream, path, length);

    fclose(stream);
    return text;
}

/* The archive `name` of a folder of tests/data. */
static inline char *read_archive(const char *folder, const char *name,
                                 const char *ending, size_t *length)
{
    char command[256];
    FILE *stream;
    char *text;

    snprintf(command, sizeof(command), "xz -dc tests/data/%s/%s.%s.json.xz",
             folder, name, ending);
    stream = popen(command, "r");
    text = read_stream(stream, command, length);
    ck_assert_msg(pclose(stream) == 0, "%s: failed", command);
    return text;
}

/* The graph `name` of tests/data/corpus. */
static inline char *read_corpus(const char *name, size_t *length)
{
    return read_archive("corpus", name, "graph", length);
}

/* PyTorch's artifact `name` of tests/data/traces. */
static inline char *read_trace(const char *name, size_t *length)
{
    return read_archive("traces", name, "min_cut_information", length);
}

static inline char *read_case(const char *name, size_t *length)
{
    char path[256];

    snprintf(path, sizeof(path), "tests/data/cases/%s.graph.json", name);
    return read_text(path, length);
}

static inline void env_init(struct proto_env *env)
{
    *env = (struct proto_env){0};
    proto_limits_init(&env->limits);
}

/* The answer to a body with options (or NULL), default limits. */
static inline struct proto_answer ask(const char *body, const char *options,
                                      enum proto_format format)
{
    struct proto_request request = {.body = body,
                                    .length = strlen(body),
                                    .options = options,
                                    .format = format};
    struct proto_answer answer;
    struct proto_env env;

    env_init(&env);
    proto_plan(&env, &request, &answer);
    return answer;
}

/* As `ask`, but it must be a plan; the document, parsed. */
static inline json_t *ask_plan(const char *body, const char *options)
{
    struct proto_answer answer = ask(body, options, PROTO_JSON);
    json_t *json;

    ck_assert_msg(answer.body != NULL, "no plan: %s (%s)",
                  answer.problem.detail, answer.problem.pointer);
    json = json_loads(answer.body, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    proto_answer_release(&answer);
    return json;
}

/* Six nodes: w (static) and x in, y = x * w out, tangent t, g = t * x. `%s` in
 * this order: fields after y's target, fields of the graph. */
#define SMALL_VALUE "{\"dtype\":\"float32\",\"shape\":[2,4]}"
#define SMALL_GRAPH(of_y, of_graph)                                     \
    "{\"schema\":\"remat/graph/v1\",\"num_fwd_outputs\":1,"             \
    "\"static_lifetime_inputs\":[0]," of_graph "\"nodes\":["            \
    "{\"name\":\"w\",\"op\":\"placeholder\",\"target\":\"primals_1\","  \
    "\"val\":" SMALL_VALUE "},"                                         \
    "{\"name\":\"x\",\"op\":\"placeholder\",\"target\":\"primals_2\","  \
    "\"val\":" SMALL_VALUE "},"                                         \
    "{\"name\":\"y\",\"op\":\"call_function\","                         \
    "\"target\":\"aten.mul.Tensor\"," of_y "\"val\":" SMALL_VALUE "},"  \
    "{\"name\":\"t\",\"op\":\"placeholder\",\"target\":\"tangents_1\"," \
    "\"val\":" SMALL_VALUE "},"                                         \
    "{\"name\":\"g\",\"op\":\"call_function\","                         \
    "\"target\":\"aten.mul.Tensor\",\"args\":[\"%t\",\"%x\"],"          \
    "\"val\":" SMALL_VALUE "},"                                         \
    "{\"name\":\"output\",\"op\":\"output\",\"target\":\"output\","     \
    "\"args\":[\"%y\",\"%g\",null]}]}"
#define Y_ARGS "\"args\":[\"%x\",\"%w\"],"

#endif
