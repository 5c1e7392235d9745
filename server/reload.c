/*
 * reload.c: see reload.h.
 */
#include "reload.h"

#include <stdio.h>

#include "log.h"
#include "server.h"
#include "tls.h"

#define WHY_SIZE 512

static bool load_tokens(struct srv_server *server, char why[WHY_SIZE])
{
    const char *path = server->config.tokens;
    char text[256] = "";

    if (*path == '\0' ||
        srv_tokens_load(&server->tokens, path, text, sizeof text))
        return true;
    snprintf(why, WHY_SIZE, "--tokens %.200s: %s", path, text);
    return false;
}

static bool load_pair(struct srv_server *server, char why[WHY_SIZE])
{
    const struct srv_config *config = &server->config;

    return *config->tls_cert == '\0' ||
           srv_tls_load(config->tls_cert, config->tls_key, why, WHY_SIZE);
}

/* Who has no token may do everything on his own machine, nothing that is the
 * operator's where --anonymous lets everybody in, and else nothing. */
static unsigned anonymous_scopes(const struct srv_server *server)
{
    const struct srv_config *config = &server->config;

    if (*config->tokens == '\0' && server->is_loopback)
        return SRV_SCOPES_ALL;
    return config->anonymous ? SRV_SCOPE_READ | SRV_SCOPE_SUBMIT : 0;
}

bool srv_reload_first(struct srv_server *server)
{
    const struct srv_config *config = &server->config;
    const struct srv_quota quota = {config->token_rate, config->token_queue,
                                    config->token_running};
    char why[WHY_SIZE] = "no memory";

    if (srv_tokens_init(&server->tokens, anonymous_scopes(server), &quota)) {
        if (load_tokens(server, why) &&
            (*config->tls_cert == '\0' ||
             (srv_tls_is_supported(why, sizeof why) && load_pair(server, why))))
            return true;
        srv_reload_release(server);
    }
    fprintf(stderr, "rematd: %s\n", why);
    return false;
}

static void log_reload(bool ok, const char *why)
{
    struct srv_log log;

    srv_log_begin(&log, ok ? "info" : "error", "reload");
    srv_log_text(&log, "outcome", ok ? "ok" : "kept");
    srv_log_text(&log, "message", ok ? NULL : why);
    srv_log_end(&log);
}

void srv_reload(struct srv_server *server)
{
    char why[WHY_SIZE] = "";
    bool ok = load_tokens(server, why);

    if (!ok)
        log_reload(false, why);
    if (!load_pair(server, why)) {
        log_reload(false, why);
        ok = false;
    }
    if (ok)
        log_reload(true, NULL);
}

void srv_reload_release(struct srv_server *server)
{
    srv_tokens_release(&server->tokens);
    srv_tls_release();
}
