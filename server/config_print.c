/*
 * config_print.c: --help, --version, --print-config.
 */
#include "config_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config_table.h"
#include "proto.h"

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

static void print_help_of(const struct srv_option *o)
{
    char name[SRV_ENV_NAME_SIZE];
    const char *line = o->help;

    srv_option_env_name(o, name);
    printf("  --%s%s%s\n", o->flag, *o->meta != '\0' ? " " : "", o->meta);
    while (*line != '\0') {
        const size_t length = strcspn(line, "\n");

        printf("      %.*s\n", (int)length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    if (o->kind == SRV_SWITCH || *o->initial == '\0')
        printf("      Default %s.", o->kind == SRV_SWITCH ? "off" : "none");
    else
        printf("      Default %s.", o->initial);
    printf(" Environment %s.\n", name);
}

static void print_help(void)
{
    fputs(help_head, stdout);
    for (size_t i = 0; i < SRV_N_OPTIONS; i++)
        print_help_of(&srv_options[i]);
    printf("  --print-config\n"
           "      Print every setting in effect and where it came from, as a\n"
           "      --config file, and exit.\n"
           "  --version\n      Print the version and exit.\n"
           "  --help\n      Print this and exit.\n");
}

static void name_origin(const struct srv_config *config, size_t option,
                        char *text, size_t size)
{
    char name[SRV_ENV_NAME_SIZE];

    switch (config->origins[option]) {
    case SRV_FROM_DEFAULT:
        snprintf(text, size, "default");
        return;
    case SRV_FROM_FILE:
        snprintf(text, size, "file:%u", config->lines[option]);
        return;
    case SRV_FROM_ENVIRONMENT:
        srv_option_env_name(&srv_options[option], name);
        snprintf(text, size, "%s", name);
        return;
    case SRV_FROM_FLAG:
        snprintf(text, size, "--%s", srv_options[option].flag);
        return;
    }
}

void srv_config_setting(const struct srv_config *config, size_t option,
                        struct srv_setting *setting)
{
    const struct srv_option *o = &srv_options[option];
    const void *field = (const char *)config + o->offset;

    setting->flag = o->flag;
    setting->is_number = o->kind == SRV_NUMBER;
    setting->value = setting->number;
    name_origin(config, option, setting->origin, sizeof setting->origin);
    switch (o->kind) {
    case SRV_TEXT:
        setting->value = *(const char *const *)field;
        break;
    case SRV_NUMBER:
        snprintf(setting->number, sizeof setting->number, "%" PRIu64,
                 *(const uint64_t *)field);
        break;
    case SRV_SWITCH:
        snprintf(setting->number, sizeof setting->number, "%s",
                 *(const bool *)field ? "true" : "false");
        break;
    }
}

/* The file itself cannot be named in a file, so that stays a comment. */
static void print_settings(const struct srv_config *config)
{
    struct srv_setting setting;

    printf("# " PROTO_ENGINE ": the settings in effect and where each came "
           "from.\n# Can be read with --config.\n");
    if (*config->config_file != '\0')
        printf("# file: %s\n", config->config_file);
    for (size_t i = 0; i < SRV_N_OPTIONS; i++) {
        if (i == SRV_OPTION_config_file)
            continue;
        srv_config_setting(config, i, &setting);
        printf("\n# %s\n%s =%s%s\n", setting.origin, setting.flag,
               *setting.value != '\0' ? " " : "", setting.value);
    }
}

bool srv_config_print(const struct srv_config *config,
                      enum srv_config_result asked)
{
    if (asked == SRV_CONFIG_HELP)
        print_help();
    else if (asked == SRV_CONFIG_VERSION)
        printf("rematd (%s)\n", PROTO_ENGINE);
    else if (asked == SRV_CONFIG_PRINT)
        print_settings(config);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    fprintf(stderr, "rematd: cannot write to standard output\n");
    return false;
}
