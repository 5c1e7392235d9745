/*
 * config.c: reads the table of config.h from flags, environment and file, in
 * this order: what was chosen in a stronger place stays, and what a weaker one
 * says is still checked.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"
#include "cpus.h"
#include "log.h"
#include "number.h"
#include "proto.h"

const struct srv_option srv_options[SRV_N_OPTIONS] = {
#define X(kind, field, flag, meta, initial, least, most, help) \
    {flag,                                                     \
     meta,                                                     \
     initial,                                                  \
     help,                                                     \
     least,                                                    \
     most,                                                     \
     offsetof(struct srv_config, field),                       \
     SRV_##kind},
    SRV_OPTION_MAP(X)
#undef X
};

/* Variables that begin like ours and are read elsewhere. */
static const char *const other_variables[] = {"REMATD_FAIL_POINT"};

extern char **environ; /* POSIX has no header for it */

const struct srv_option *srv_option_find(const char *name, size_t n)
{
    for (size_t i = 0; i < SRV_N_OPTIONS; i++) {
        if (strncmp(srv_options[i].flag, name, n) == 0 &&
            srv_options[i].flag[n] == '\0')
            return &srv_options[i];
    }
    return NULL;
}

const char *srv_option_nearest(const char *name)
{
    const char *flags[SRV_N_OPTIONS];

    for (size_t i = 0; i < SRV_N_OPTIONS; i++)
        flags[i] = srv_options[i].flag;
    return proto_nearest_word(flags, SRV_N_OPTIONS, name);
}

void srv_option_env_name(const struct srv_option *option,
                         char name[SRV_ENV_NAME_SIZE])
{
    size_t length =
        (size_t)snprintf(name, SRV_ENV_NAME_SIZE, "REMATD_%s", option->flag);

    for (size_t i = 0; i < length; i++) {
        if (name[i] == '-')
            name[i] = '_';
        else if (name[i] >= 'a' && name[i] <= 'z')
            name[i] = (char)(name[i] - 'a' + 'A');
    }
}

/* ---- one value --------------------------------------------------------- */

/* Where a value stands: `text` begins messages about it. */
struct source {
    enum srv_origin origin;
    unsigned line;
    char text[512];
};

static bool parse_switch(const char *text, bool *value)
{
    *value = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
    return *value || strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
}

/* What a line of a file can say, so that --print-config can print it. */
static bool is_line(const char *text)
{
    const size_t n = strlen(text);

    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return false;
    }
    return n == 0 || (text[0] != ' ' && text[n - 1] != ' ');
}

/* Writes to the field, or only checks when a stronger place has done so. */
static bool store(struct srv_config *config, const struct srv_option *o,
                  const char *text, bool is_written)
{
    void *field = (char *)config + o->offset;
    uint64_t number = 0;
    bool on = false;

    switch (o->kind) {
    case SRV_TEXT:
        if (!is_line(text))
            return false;
        if (is_written)
            *(const char **)field = text;
        return true;
    case SRV_SWITCH:
        if (!parse_switch(text, &on))
            return false;
        if (is_written)
            *(bool *)field = on;
        return true;
    case SRV_NUMBER:
        if (strcmp(text, "auto") == 0 && strcmp(o->initial, text) == 0)
            return true;
        if (!srv_number_parse(text, true, &number) || number < o->least ||
            number > o->most)
            return false;
        if (is_written)
            *(uint64_t *)field = number;
        return true;
    }
    return false;
}

static bool refuse_value(const struct srv_option *o, const char *source,
                         const char *text)
{
    switch (o->kind) {
    case SRV_TEXT:
        fprintf(stderr,
                "rematd: %s: begins or ends with a blank, or holds control "
                "characters\n",
                source);
        break;
    case SRV_SWITCH:
        fprintf(stderr, "rematd: %s: \"%s\" is neither 1 nor 0\n", source,
                text);
        break;
    case SRV_NUMBER:
        fprintf(stderr,
                "rematd: %s: \"%s\" is not a number from %" PRIu64
                " to %" PRIu64 "\n",
                source, text, o->least, o->most);
        break;
    }
    return false;
}

/* Sets one option that somebody chose; false after a message. */
static bool choose(struct srv_config *config, const struct srv_option *o,
                   const struct source *source, const char *text)
{
    const size_t i = (size_t)(o - srv_options);
    const bool is_written = source->origin >= config->origins[i];

    if (!store(config, o, text, is_written))
        return refuse_value(o, source->text, text);
    if (is_written) {
        config->origins[i] = source->origin;
        config->lines[i] = source->line;
    }
    return true;
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
    for (size_t i = 0; i < SRV_N_OPTIONS; i++)
        (void)store(config, &srv_options[i], srv_options[i].initial, true);
}

/* ---- flags ------------------------------------------------------------- */

static bool refuse_flag(const char *argument)
{
    const char *nearest = strncmp(argument, "--", 2) == 0
                              ? srv_option_nearest(argument + 2)
                              : NULL;

    fprintf(stderr, "rematd: unknown argument %s", argument);
    if (nearest != NULL)
        fprintf(stderr, ", did you mean --%s?", nearest);
    fprintf(stderr, "\nTry: rematd --help\n");
    return false;
}

/* The value of the flag argv[*at], which is the next argument; NULL after a
 * message. Another flag is none: who forgot the value would lose the flag too.
 */
static const char *next_value(int argc, char **argv, int *at)
{
    const char *flag = argv[*at];

    if (*at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0)
        return argv[++*at];
    fprintf(stderr, "rematd: %s needs a value", flag);
    if (*at + 1 < argc)
        fprintf(stderr, ", and %s is a flag (%s=VALUE takes anything)",
                argv[*at + 1], flag);
    fprintf(stderr, "\n");
    return NULL;
}

static bool read_flags(struct srv_config *config, int argc, char **argv)
{
    struct source source = {.origin = SRV_FROM_FLAG};

    for (int i = 1; i < argc; i++) {
        const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        const size_t n_name = strcspn(name, "=");
        const struct srv_option *o = srv_option_find(name, n_name);
        const char *text = name + n_name + 1;

        if (o == NULL && strcmp(name, "print-config") == 0)
            continue;
        if (o == NULL)
            return refuse_flag(argv[i]);
        snprintf(source.text, sizeof source.text, "--%s", o->flag);
        if (name[n_name] == '\0')
            text = o->kind == SRV_SWITCH ? "1" : next_value(argc, argv, &i);
        if (text == NULL || !choose(config, o, &source, text))
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

/* ---- the environment --------------------------------------------------- */

/* It is only read here, before there are threads. */
static bool read_environment(struct srv_config *config)
{
    struct source source = {.origin = SRV_FROM_ENVIRONMENT};
    char name[SRV_ENV_NAME_SIZE];

    for (size_t i = 0; i < SRV_N_OPTIONS; i++) {
        srv_option_env_name(&srv_options[i], name);
        snprintf(source.text, sizeof source.text, "%s", name);
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread yet */
        const char *text = getenv(name);
        if (text != NULL && *text != '\0' &&
            !choose(config, &srv_options[i], &source, text))
            return false;
    }
    return true;
}

static bool is_known_variable(const char *name, size_t n)
{
    char known[SRV_ENV_NAME_SIZE];

    for (size_t i = 0; i < SRV_N_OPTIONS; i++) {
        srv_option_env_name(&srv_options[i], known);
        if (strncmp(known, name, n) == 0 && known[n] == '\0')
            return true;
    }
    for (size_t i = 0; i < sizeof other_variables / sizeof other_variables[0];
         i++) {
        if (strncmp(other_variables[i], name, n) == 0 &&
            other_variables[i][n] == '\0')
            return true;
    }
    return false;
}

/* A cluster tells every container of a service named rematd where that is:
 * REMATD_SERVICE_HOST, REMATD_PORT=tcp://..., REMATD_PORT_7433_TCP_ADDR. */
static bool is_of_cluster(const char *name, const char *value)
{
    return strstr(name, "_SERVICE_HOST") != NULL ||
           strstr(name, "_SERVICE_PORT") != NULL ||
           (strstr(name, "_PORT") != NULL && strstr(value, "://") != NULL) ||
           strstr(name, "_TCP") != NULL || strstr(name, "_UDP") != NULL;
}

static void warn_of_variable(const char *name)
{
    const char *nearest = srv_option_nearest(name + strlen("REMATD_"));
    const struct srv_option *o =
        nearest == NULL ? NULL : srv_option_find(nearest, strlen(nearest));
    char known[SRV_ENV_NAME_SIZE] = "";
    struct srv_log log;

    srv_log_begin(&log, "warn", "config");
    srv_log_text(&log, "message", "an environment variable is none of ours");
    srv_log_text(&log, "variable", name);
    if (o != NULL) {
        srv_option_env_name(o, known);
        srv_log_text(&log, "nearest", known);
    }
    srv_log_end(&log);
}

static void warn_of_variables(void)
{
    char name[SRV_ENV_NAME_SIZE];

    for (char **at = environ; at != NULL && *at != NULL; at++) {
        const size_t n = strcspn(*at, "=");

        if (strncmp(*at, "REMATD_", strlen("REMATD_")) != 0 ||
            is_known_variable(*at, n))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)n, *at);
        if (!is_of_cluster(name, *at + n))
            warn_of_variable(name);
    }
}

/* ---- the file ---------------------------------------------------------- */

static bool refuse_key(const char *source, const char *key)
{
    const char *nearest = srv_option_nearest(key);

    fprintf(stderr, "rematd: %s: no such setting", source);
    if (nearest != NULL)
        fprintf(stderr, ", did you mean %s?", nearest);
    fprintf(stderr, "\n");
    return false;
}

static bool read_line(struct srv_config *config, const char *file,
                      const struct srv_config_line *line,
                      unsigned seen[SRV_N_OPTIONS])
{
    struct source source = {.origin = SRV_FROM_FILE, .line = line->number};
    const struct srv_option *o = srv_option_find(line->key, strlen(line->key));

    snprintf(source.text, sizeof source.text, "%.400s:%u: %.60s", file,
             line->number, line->key);
    if (o == NULL)
        return refuse_key(source.text, line->key);
    const size_t i = (size_t)(o - srv_options);
    if (i == SRV_OPTION_config_file) {
        fprintf(stderr, "rematd: %s: a file cannot name another\n",
                source.text);
        return false;
    }
    if (seen[i] != 0) {
        fprintf(stderr, "rematd: %s: set before, in line %u\n", source.text,
                seen[i]);
        return false;
    }
    seen[i] = line->number;
    return choose(config, o, &source, line->value);
}

static bool read_file(struct srv_config *config)
{
    struct srv_config_reader reader = {.name = config->config_file};
    struct srv_config_line line;
    unsigned seen[SRV_N_OPTIONS] = {0};
    enum srv_config_step step;

    if (*config->config_file == '\0')
        return true;
    config->file_text = srv_config_file_load(config->config_file);
    if (config->file_text == NULL)
        return false;
    reader.at = config->file_text;
    while ((step = srv_config_file_next(&reader, &line)) == SRV_STEP_LINE) {
        if (!read_line(config, config->config_file, &line, seen))
            return false;
    }
    return step == SRV_STEP_END;
}

/* ---- all of it --------------------------------------------------------- */

/* What makes sense together only; false after a message. */
static bool check_together(const struct srv_config *config)
{
    const bool has_cert = *config->tls_cert != '\0';

    if (*config->data == '\0') {
        fprintf(stderr, "rematd: --data needs a directory, or :memory:\n");
        return false;
    }
    if (has_cert == (*config->tls_key != '\0'))
        return true;
    fprintf(stderr, "rematd: %s needs %s\n",
            has_cert ? "--tls-cert" : "--tls-key",
            has_cert ? "--tls-key" : "--tls-cert");
    return false;
}

enum srv_config_result srv_config_read(struct srv_config *config, int argc,
                                       char **argv)
{
    if (has_argument(argc, argv, "--help") || has_argument(argc, argv, "-h"))
        return SRV_CONFIG_HELP;
    if (has_argument(argc, argv, "--version"))
        return SRV_CONFIG_VERSION;
    set_defaults(config);
    if (!read_flags(config, argc, argv) || !read_environment(config) ||
        !read_file(config))
        return SRV_CONFIG_WRONG;
    if (!check_together(config))
        return SRV_CONFIG_WRONG;
    warn_of_variables();
    return has_argument(argc, argv, "--print-config") ? SRV_CONFIG_PRINT
                                                      : SRV_CONFIG_RUN;
}
