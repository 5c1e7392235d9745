/*
 * config.h: everything that can be set, in one table.
 *
 * A flag --max-body is the environment variable REMATD_MAX_BODY; flags win over
 * the environment, the environment over the default.
 */
#ifndef SRV_CONFIG_H
#define SRV_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * X(kind, field, flag, placeholder, default, least, most, help)
 *
 * kind: TEXT, NUMBER (takes K, M, G), SWITCH (a flag alone; in the environment
 * 0, 1, true or false). A default of "auto" is worked out at start.
 */
#define SRV_OPTION_MAP(X)                                                     \
    X(TEXT, listen, "listen", "HOST:PORT", "127.0.0.1:7433", 0, 0,            \
      "Where to listen. Port 0 picks a free one; the first line on stdout\n"  \
      "says which. An address beyond loopback needs --anonymous.")            \
    X(SWITCH, anonymous, "anonymous", "", "0", 0, 1,                          \
      "Serve whoever can reach the address, without a token. Always so on\n"  \
      "loopback.")                                                            \
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
      "Where jobs are kept. This version keeps nothing: only :memory:.")

struct srv_config {
#define SRV_FIELD_TEXT(field)   const char *field
#define SRV_FIELD_NUMBER(field) uint64_t field
#define SRV_FIELD_SWITCH(field) bool field
#define X(kind, field, flag, meta, initial, least, most, help) \
    SRV_FIELD_##kind(field);
    SRV_OPTION_MAP(X)
#undef X
};

enum srv_config_result {
    SRV_CONFIG_RUN,   /* start with it */
    SRV_CONFIG_DONE,  /* --help and the like: printed, exit 0 */
    SRV_CONFIG_WRONG, /* a message is on stderr, exit 2 */
    SRV_CONFIG_UNSAID /* what was asked for could not be printed, exit 5 */
};

/* Reads environment and flags. Texts in *config belong to argv or the
 * environment. Call before any thread exists. */
enum srv_config_result srv_config_read(struct srv_config *config, int argc,
                                       char **argv);

#endif
