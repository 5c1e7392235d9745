/*
 * config.c: reads the table of config.h from environment and flags, prints it
 * for --help and --print-config.
 */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpus.h"
#include "number.h"
#include "proto.h"

enum kind {
    TEXT,
    NUMBER,
    SWITCH
};

struct option {
    const char *flag;
    const char *meta;
    const char *initial;
    const char *help;
    uint64_t least;
    uint64_t most;
    size_t offset; /* of the field in struct srv_config */
    enum kind kind;
};

static const struct option options[] = {
#define X(kind, field, flag, meta, initial, least, most, help) \
    {                                                          \
        flag,                                                  \
        meta,                                                  \
        initial,                                               \
        help,                                                  \
        least,                                                 \
        most,                                                  \
        offsetof(struct srv_config, field),                    \
        kind},
    SRV_OPTION_MAP(X)
#undef X
};
#define N_OPTIONS (sizeof options / sizeof options[0])

/* Flags of later versions: said so, rather than unknown. */
static const char *const unbuilt[] = {"admin-listen", "tokens", "tls-cert",
                                      "tls-key", "config"};
#define N_UNBUILT (sizeof unbuilt / sizeof unbuilt[0])

#define ENV_NAME_SIZE 64

static void env_name(const char *flag, char name[ENV_NAME_SIZE])
{
    size_t length = (size_t)snprintf(name, ENV_NAME_SIZE, "REMATD_%s", flag);

    for (size_t i = 0; i < length; i++) {
        if (name[i] == '-')
            name[i] = '_';
        else if (name[i] >= 'a' && name[i] <= 'z')
            name[i] = (char)(name[i] - 'a' + 'A');
    }
}

static uint64_t *number_at(struct srv_config *config, const struct option *o)
{
    return (uint64_t *)(void *)((char *)config + o->offset);
}

static bool set_switch(bool *value, const char *text)
{
    if (strcmp(text, "1") == 0 || strcmp(text, "true") == 0)
        *value = true;
    else if (strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
        *value = false;
    else
        return false;
    return true;
}

/* Sets one option; false after a message that begins with `source`. */
static bool set_option(struct srv_config *config, const struct option *o,
                       const char *source, const char *text)
{
    void *field = (char *)config + o->offset;
    uint64_t number = 0;

    switch (o->kind) {
    case TEXT:
        *(const char **)field = text;
        return true;
    case SWITCH:
        if (set_switch(field, text))
            return true;
        fprintf(stderr, "rematd: %s: \"%s\" is neither 1 nor 0\n", source,
                text);
        return false;
    case NUMBER:
        if (strcmp(text, o->initial) == 0 && strcmp(text, "auto") == 0)
            return true;
        if (srv_number_parse(text, true, &number) && number >= o->least &&
            number <= o->most) {
            *number_at(config, o) = number;
            return true;
        }
        fprintf(stderr,
                "rematd: %s: \"%s\" is not a number from %" PRIu64
                " to %" PRIu64 "\n",
                source, text, o->least, o->most);
        return false;
    }
    return false;
}

/* What "auto" means here, then the defaults of the table. */
static void set_defaults(struct srv_config *config)
{
    struct proto_limits limits;

    proto_limits_init(&limits);
    memset(config, 0, sizeof *config);
    config->workers = srv_cpus();
    config->max_steps = limits.n_steps;
    config->job_memory = limits.memory_bytes;
    for (size_t i = 0; i < N_OPTIONS; i++)
        set_option(config, &options[i], options[i].flag, options[i].initial);
}

static bool refuse_unbuilt(const char *source)
{
    fprintf(stderr, "rematd: %s is not built in this version\n", source);
    return false;
}

/* The environment is only read here, before there are threads. */
static bool read_environment(struct srv_config *config)
{
    char name[ENV_NAME_SIZE];

    for (size_t i = 0; i < N_OPTIONS; i++) {
        env_name(options[i].flag, name);
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread yet */
        const char *text = getenv(name);
        if (text != NULL && *text != '\0' &&
            !set_option(config, &options[i], name, text))
            return false;
    }
    for (size_t i = 0; i < N_UNBUILT; i++) {
        env_name(unbuilt[i], name);
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread yet */
        const char *text = getenv(name);
        if (text != NULL && *text != '\0')
            return refuse_unbuilt(name);
    }
    return true;
}

static bool is_flag(const char *argument, const char *flag)
{
    const size_t length = strlen(flag);

    return strncmp(argument, "--", 2) == 0 &&
           strncmp(argument + 2, flag, length) == 0 &&
           (argument[2 + length] == '\0' || argument[2 + length] == '=');
}

static const struct option *find_option(const char *argument)
{
    for (size_t i = 0; i < N_OPTIONS; i++) {
        if (is_flag(argument, options[i].flag))
            return &options[i];
    }
    return NULL;
}

/* Why a flag is none of ours; always false. */
static bool refuse_flag(const char *argument)
{
    for (size_t i = 0; i < N_UNBUILT; i++) {
        if (is_flag(argument, unbuilt[i]))
            return refuse_unbuilt(argument);
    }
    fprintf(stderr, "rematd: unknown argument %s\nTry: rematd --help\n",
            argument);
    return false;
}

static bool read_flags(struct srv_config *config, int argc, char **argv)
{
    char source[ENV_NAME_SIZE];

    for (int i = 1; i < argc; i++) {
        const struct option *o = find_option(argv[i]);

        if (o == NULL && strcmp(argv[i], "--print-config") == 0)
            continue;
        if (o == NULL)
            return refuse_flag(argv[i]);
        snprintf(source, sizeof source, "--%s", o->flag);
        const char *text = strchr(argv[i], '=');
        if (text != NULL)
            text++;
        else if (o->kind == SWITCH)
            text = "1";
        else if (++i < argc)
            text = argv[i];
        else {
            fprintf(stderr, "rematd: %s needs a value\n", source);
            return false;
        }
        if (!set_option(config, o, source, text))
            return false;
    }
    return true;
}

static bool has_argument(int argc, char **argv, const char *argument)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], argument) == 0)
            return true;
    }
    return false;
}

static void print_help_of(const struct option *o)
{
    char name[ENV_NAME_SIZE];
    const char *line = o->help;

    env_name(o->flag, name);
    printf("  --%s%s%s\n", o->flag, *o->meta != '\0' ? " " : "", o->meta);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");

        printf("      %.*s\n", (int)length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    printf("      Default %s. Environment %s.\n",
           o->kind == SWITCH ? "off" : o->initial, name);
}

static const char help_head[] =
    "rematd: answers, over HTTP, which values of a training step the forward\n"
    "saves for the backward and which are computed again.\n"
    "\n"
    "  rematd                     listens on 127.0.0.1:7433\n"
    "  curl --json @step.graph.json http://127.0.0.1:7433/v1/plans\n"
    "  curl --json @step.graph.json -H 'Accept: text/plain' \\\n"
    "    http://127.0.0.1:7433/v1/plans\n"
    "\n"
    "Also GET /livez, /readyz and /version. Log lines (JSON) go to stderr.\n"
    "SIGTERM finishes what was accepted and exits 0. Exit 1: it could not\n"
    "start. Exit 2: wrong usage.\n"
    "\n"
    "Options (numbers of bytes take K, M, G)\n";

static void print_help(void)
{
    fputs(help_head, stdout);
    for (size_t i = 0; i < N_OPTIONS; i++)
        print_help_of(&options[i]);
    printf("  --print-config\n      Print every setting in effect, as an "
           "environment file, and exit.\n"
           "  --version\n      Print the version and exit.\n"
           "  --help\n      Print this and exit.\n");
}

static void print_config(const struct srv_config *config)
{
    char name[ENV_NAME_SIZE];

    for (size_t i = 0; i < N_OPTIONS; i++) {
        const void *field = (const char *)config + options[i].offset;

        env_name(options[i].flag, name);
        if (options[i].kind == TEXT)
            printf("%s=%s\n", name, *(const char *const *)field);
        else if (options[i].kind == NUMBER)
            printf("%s=%" PRIu64 "\n", name, *(const uint64_t *)field);
        else
            printf("%s=%d\n", name, *(const bool *)field ? 1 : 0);
    }
}

static enum srv_config_result printed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return SRV_CONFIG_DONE;
    fprintf(stderr, "rematd: cannot write to standard output\n");
    return SRV_CONFIG_UNSAID;
}

enum srv_config_result srv_config_read(struct srv_config *config, int argc,
                                       char **argv)
{
    if (has_argument(argc, argv, "--help") || has_argument(argc, argv, "-h")) {
        print_help();
        return printed();
    }
    if (has_argument(argc, argv, "--version")) {
        printf("rematd (%s)\n", PROTO_ENGINE);
        return printed();
    }
    set_defaults(config);
    if (!read_environment(config) || !read_flags(config, argc, argv))
        return SRV_CONFIG_WRONG;
    if (strcmp(config->data, ":memory:") != 0) {
        fprintf(stderr,
                "rematd: --data %s: keeping jobs is not built in this "
                "version; only :memory: is\n",
                config->data);
        return SRV_CONFIG_WRONG;
    }
    if (has_argument(argc, argv, "--print-config")) {
        print_config(config);
        return printed();
    }
    return SRV_CONFIG_RUN;
}
