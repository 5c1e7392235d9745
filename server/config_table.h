/*
 * config_table.h: the table of config.h as an array, for the files of config.
 */
#ifndef SRV_CONFIG_TABLE_H
#define SRV_CONFIG_TABLE_H

#include "config.h"

enum srv_kind {
    SRV_TEXT,
    SRV_NUMBER,
    SRV_SWITCH
};

struct srv_option {
    const char *flag; /* without dashes */
    const char *meta;
    const char *initial;
    const char *help;
    uint64_t least;
    uint64_t most;
    size_t offset; /* of the field in struct srv_config */
    enum srv_kind kind;
};

extern const struct srv_option srv_options[SRV_N_OPTIONS];

/* The option of that name, n bytes, or NULL. */
const struct srv_option *srv_option_find(const char *name, size_t n);
/* The flag that was probably meant, or NULL. */
const char *srv_option_nearest(const char *name);

#define SRV_ENV_NAME_SIZE 64
/* REMATD_MAX_BODY of max-body. */
void srv_option_env_name(const struct srv_option *option,
                         char name[SRV_ENV_NAME_SIZE]);

/* ---- the file, line by line -------------------------------------------- */

/* A line "key = value". Both are NUL-terminated, without blanks around them,
 * and lie in the text that was read. */
struct srv_config_line {
    const char *key;
    const char *value;
    unsigned number; /* from 1 */
};

struct srv_config_reader {
    const char *name; /* of the file, for messages */
    char *at;
    unsigned number;
};

/* The whole file, NUL-terminated, or NULL after a message on stderr. The caller
 * frees it. At most 1 MiB; without NUL bytes. */
char *srv_config_file_load(const char *name);

enum srv_config_step {
    SRV_STEP_LINE, /* *line was filled */
    SRV_STEP_END,
    SRV_STEP_WRONG /* a message that names file and line is on stderr */
};
/* The next line that is neither empty nor a comment. Cuts the text up. */
enum srv_config_step srv_config_file_next(struct srv_config_reader *reader,
                                          struct srv_config_line *line);

#endif
