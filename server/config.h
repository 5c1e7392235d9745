/*
 * config.h: everything that can be set, in one table.
 *
 * A flag --max-body is the environment variable REMATD_MAX_BODY and, in a
 * --config file, the line "max-body = ..."; flags win over the environment, the
 * environment over the file, the file over the default.
 */
#ifndef SRV_CONFIG_H
#define SRV_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(kind, field, flag, placeholder, default, least, most, help)
 *
 * kind: TEXT, NUMBER (takes K, M, G), SWITCH (a flag alone; in the environment
 * and in a file 0, 1, true or false). A default of "auto" is worked out at
 * start. The help has lines of at most 72 characters.
 */
#define SRV_OPTION_MAP(X)                                                     \
    X(TEXT, listen, "listen", "HOST:PORT", "127.0.0.1:7433", 0, 0,            \
      "Where to listen. Port 0 picks a free one; the first line on stdout\n"  \
      "says which. An address beyond loopback needs --tokens or\n"            \
      "--anonymous.")                                                         \
    X(SWITCH, anonymous, "anonymous", "", "0", 0, 1,                          \
      "Serve whoever can reach the address, also without a token. Always\n"   \
      "so on loopback, if there are no --tokens.")                            \
    X(NUMBER, workers, "workers", "N", "auto", 1, 256,                        \
      "Plans made at the same time. auto: the processors this process may\n"  \
      "use.")                                                                 \
    X(NUMBER, queue, "queue", "N", "256", 1, 100000,                          \
      "Requests that may wait for a worker; more are answered 503 with\n"     \
      "Retry-After.")                                                         \
    X(NUMBER, max_body, "max-body", "BYTES", "256M", 1, INT64_MAX,            \
      "Largest request body; larger ones are answered 413.")                  \
    X(NUMBER, max_nodes, "max-nodes", "N", "1000000", 1, UINT32_MAX - 1,      \
      "Most nodes of a graph.")                                               \
    X(NUMBER, max_steps, "max-steps", "N", "auto", 0, INT64_MAX,              \
      "Most solver effort for one graph, in steps, before it is answered\n"   \
      "504. 0: no limit.")                                                    \
    X(NUMBER, job_memory, "job-memory", "BYTES", "auto", 1048576, INT64_MAX,  \
      "Most memory for one plan (JSON tree, graph and solver); beyond it\n"   \
      "413. The process needs at most about workers x job-memory +\n"         \
      "body-memory.")                                                         \
    X(NUMBER, body_memory, "body-memory", "BYTES", "1G", 65536, INT64_MAX,    \
      "Most memory for all bodies received and not yet planned and all\n"     \
      "answers not yet sent; beyond it new bodies are answered 503.")         \
    X(NUMBER, max_connections, "max-connections", "N", "4096", 8, 1000000,    \
      "Connections open at the same time; more are answered 503 and closed.") \
    X(NUMBER, header_timeout, "header-timeout", "SECONDS", "10", 1, 3600,     \
      "A request header must be complete within that time.")                  \
    X(NUMBER, body_timeout, "body-timeout", "SECONDS", "10", 1, 3600,         \
      "A body must be complete within that time plus a second for each\n"     \
      "256 KiB received; an answer must be read as fast.")                    \
    X(NUMBER, idle_timeout, "idle-timeout", "SECONDS", "75", 1, 86400,        \
      "How long a connection may stay open without a request.")               \
    X(NUMBER, drain_timeout, "drain-timeout", "SECONDS", "25", 0, 86400,      \
      "After SIGTERM: how long accepted work may take to finish, while new\n" \
      "work is answered 503. A second SIGTERM ends the wait.")                \
    X(TEXT, data, "data", "DIR|:memory:", ":memory:", 0, 0,                   \
      "Where jobs and plans are kept: a directory, made when missing, for\n"  \
      "one daemon at a time. :memory: forgets them when the daemon ends.")    \
    X(NUMBER, cache, "cache", "BYTES", "256M", 0, INT64_MAX,                  \
      "Finished plans kept in memory, so that the same graph is not\n"        \
      "planned twice. 0: none.")                                              \
    X(NUMBER, retain, "retain", "SECONDS", "604800", 1, 315360000,            \
      "How long a finished job and its plan are kept in --data; then 410.")   \
    X(NUMBER, retain_bytes, "retain-bytes", "BYTES", "10G", 1048576,          \
      INT64_MAX,                                                              \
      "Most bytes of finished jobs and plans in --data; beyond it the\n"      \
      "oldest go first.")                                                     \
    X(NUMBER, queue_timeout, "queue-timeout", "SECONDS", "600", 1, 604800,    \
      "How long a job may wait for a worker; then it is expired.")            \
    X(NUMBER, run_timeout, "run-timeout", "SECONDS", "600", 1, 604800,        \
      "How long a worker may take for a job; then it is expired.")            \
    X(NUMBER, group_timeout, "group-timeout", "SECONDS", "600", 1, 86400,     \
      "How long a rank of a group may wait for the others, and how long\n"    \
      "what it sent is kept for them.")                                       \
    X(NUMBER, heartbeat, "heartbeat", "SECONDS", "15", 1, 3600,               \
      "How often an event stream says that it is still there.")               \
    X(TEXT, tokens, "tokens", "FILE", "", 0, 0,                               \
      "Who may ask for what: lines NAME SCOPES TOKEN [rate=N] [queue=N]\n"    \
      "[running=N]; SCOPES of read,submit,admin; TOKEN as it is or as\n"      \
      "sha256:HEX. Read again on SIGHUP.")                                    \
    X(NUMBER, token_rate, "token-rate", "N", "0", 0, 1000000,                 \
      "Requests a second of one token; more are answered 429. 0: no limit.")  \
    X(NUMBER, token_queue, "token-queue", "N", "0", 0, 100000,                \
      "Jobs of one token that may wait; more are answered 429. 0: no limit.") \
    X(NUMBER, token_running, "token-running", "N", "0", 0, 256,               \
      "Jobs of one token that run at the same time; others wait. 0: no\n"     \
      "limit.")                                                               \
    X(TEXT, tls_cert, "tls-cert", "FILE", "", 0, 0,                           \
      "Serve HTTPS with this certificate and its chain (PEM).")               \
    X(TEXT, tls_key, "tls-key", "FILE", "", 0, 0,                             \
      "The private key of --tls-cert (PEM).")                                 \
    X(TEXT, admin_listen, "admin-listen", "HOST:PORT", "", 0, 0,              \
      "Serve /livez, /readyz, /metrics and /v1/ops there as well, on a\n"     \
      "thread of its own that answers when --listen is overloaded. Without\n" \
      "tokens, so not for everybody to reach.")                               \
    X(TEXT, config_file, "config", "FILE", "", 0, 0,                          \
      "Read settings from this file first: lines such as max-body = 64M,\n"   \
      "names as the flags without dashes. Environment and flags win.")

enum {
#define X(kind, field, flag, meta, initial, least, most, help) \
    SRV_OPTION_##field,
    SRV_OPTION_MAP(X)
#undef X
    SRV_N_OPTIONS
};

/* Where a value came from; the later ones win. */
enum srv_origin {
    SRV_FROM_DEFAULT,
    SRV_FROM_FILE,
    SRV_FROM_ENVIRONMENT,
    SRV_FROM_FLAG
};

struct srv_config {
#define SRV_FIELD_TEXT(field)   const char *field
#define SRV_FIELD_NUMBER(field) uint64_t field
#define SRV_FIELD_SWITCH(field) bool field
#define X(kind, field, flag, meta, initial, least, most, help) \
    SRV_FIELD_##kind(field);
    SRV_OPTION_MAP(X)
#undef X
    enum srv_origin origins[SRV_N_OPTIONS];
    unsigned lines[SRV_N_OPTIONS]; /* of the file, from 1; else 0 */
    char *file_text;               /* kept: texts point into it */
};

enum srv_config_result {
    SRV_CONFIG_RUN,     /* start with it */
    SRV_CONFIG_HELP,    /* --help: nothing was read */
    SRV_CONFIG_VERSION, /* --version: nothing was read */
    SRV_CONFIG_PRINT,   /* --print-config: of what was read */
    SRV_CONFIG_WRONG    /* a message is on stderr */
};

/* Reads flags, environment and file. Texts in *config belong to argv, the
 * environment or config->file_text. Call before any thread exists. Variables
 * that begin with REMATD_ and are none of ours are logged as a warning. */
enum srv_config_result srv_config_read(struct srv_config *config, int argc,
                                       char **argv);

/* One setting for others to show: 0 <= option < SRV_N_OPTIONS. */
struct srv_setting {
    const char *flag;  /* without dashes */
    const char *value; /* as a file would have it, numbers without suffix */
    bool is_number;
    char origin[64]; /* "default", "file:12", "REMATD_QUEUE" or "--queue" */
    char number[24]; /* what value points to when it is not a text */
};
/* No setting is a secret: secrets are in files, of which only the names are
 * here. */
void srv_config_setting(const struct srv_config *config, size_t option,
                        struct srv_setting *setting);

#endif
