/*
 * site.c: the files of server/pages and proto's, and templates filled.
 */
#include "site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "proto.h"

/* The paths are seen from where make runs. */
#define EMBED(id, file)                           \
    __asm__(".section .rodata\n"                  \
            "srv_site_" #id "_begin:\n"           \
            ".incbin \"server/pages/" file "\"\n" \
            "srv_site_" #id "_end:\n"             \
            ".byte 0\n"                           \
            ".previous\n");                       \
    extern const char srv_site_##id##_begin[]     \
        __attribute__((visibility("hidden")));    \
    extern const char srv_site_##id##_end[]       \
        __attribute__((visibility("hidden")))

EMBED(layout, "layout.html");
EMBED(home, "home.html");
EMBED(job, "job.html");
EMBED(shell, "shell.html");
EMBED(problem, "problem.html");
EMBED(icon_svg, "icon.svg");
EMBED(site_css, "site.css");
EMBED(service_js, "service.js");
EMBED(home_js, "home.js");
EMBED(actions_js, "actions.js");
EMBED(job_js, "job.js");

/* X(id, name, type) */
#define OWN_FILES(X)                                              \
    X(icon_svg, "icon.svg", "image/svg+xml")                      \
    X(site_css, "site.css", "text/css; charset=utf-8")            \
    X(service_js, "service.js", "text/javascript; charset=utf-8") \
    X(home_js, "home.js", "text/javascript; charset=utf-8")       \
    X(actions_js, "actions.js", "text/javascript; charset=utf-8") \
    X(job_js, "job.js", "text/javascript; charset=utf-8")

#define ETAG_BYTES 12 /* of the hash */

/* ---- files ------------------------------------------------------------- */

static bool add_file(struct srv_site *site, const char *name, const char *type,
                     const char *bytes, size_t length)
{
    struct srv_text text = {0};
    struct srv_key key;
    struct srv_hash *hash = srv_hash_new();

    if (hash != NULL)
        srv_hash_bytes(hash, bytes, length);
    const bool is_hashed = hash != NULL && srv_hash_end(hash, &key);
    srv_hash_free(hash);
    srv_text_bytes(&text, bytes, length);
    struct srv_answer *answer = srv_text_answer(&text, type);
    if (answer == NULL || !is_hashed || site->n_files == SRV_SITE_MOST) {
        srv_answer_unref(answer);
        return false;
    }
    srv_hex(key.bytes, ETAG_BYTES, answer->etag);
    site->files[site->n_files++] = (struct srv_site_file){name, answer};
    return true;
}

bool srv_site_init(struct srv_site *site)
{
    bool is_complete = true;
    size_t n_assets = 0;
    const struct proto_asset *assets = proto_assets(&n_assets);

    site->n_files = 0;
#define X(id, name, type)                                                 \
    is_complete =                                                         \
        is_complete && add_file(site, name, type, srv_site_##id##_begin,  \
                                (size_t)((uintptr_t)srv_site_##id##_end - \
                                         (uintptr_t)srv_site_##id##_begin));
    OWN_FILES(X)
#undef X
    for (size_t i = 0; i < n_assets; i++)
        is_complete =
            is_complete && add_file(site, assets[i].name, assets[i].type,
                                    assets[i].bytes, assets[i].length);
    return is_complete;
}

void srv_site_release(struct srv_site *site)
{
    while (site->n_files > 0)
        srv_answer_unref(site->files[--site->n_files].answer);
}

struct srv_answer *srv_site_file(const struct srv_site *site, const char *name)
{
    for (size_t i = 0; i < site->n_files; i++) {
        if (strcmp(site->files[i].name, name) == 0)
            return site->files[i].answer;
    }
    return NULL;
}

/* ---- templates --------------------------------------------------------- */

static const char *template_bytes(enum srv_template which)
{
    switch (which) {
    case SRV_TEMPLATE_LAYOUT:
        return srv_site_layout_begin;
    case SRV_TEMPLATE_HOME:
        return srv_site_home_begin;
    case SRV_TEMPLATE_JOB:
        return srv_site_job_begin;
    case SRV_TEMPLATE_SHELL:
        return srv_site_shell_begin;
    case SRV_TEMPLATE_PROBLEM:
        return srv_site_problem_begin;
    case SRV_N_TEMPLATES:
        break;
    }
    return "";
}

static void put_asset(const struct srv_site *site, struct srv_text *text,
                      const char *name)
{
    const struct srv_answer *file = srv_site_file(site, name);

    if (file != NULL)
        srv_text_printf(text, "/assets/%s?v=%s", name, file->etag);
}

static void put_value(const struct srv_site *site, struct srv_text *text,
                      const char *name, const struct srv_fill *fills,
                      size_t n_fills)
{
    static const char asset[] = "asset:";

    if (strncmp(name, asset, sizeof asset - 1) == 0) {
        put_asset(site, text, name + sizeof asset - 1);
        return;
    }
    for (size_t i = 0; i < n_fills; i++) {
        if (strcmp(fills[i].name, name) == 0)
            srv_text_bytes(text, fills[i].html, strlen(fills[i].html));
    }
}

void srv_site_fill(const struct srv_site *site, struct srv_text *text,
                   enum srv_template which, const struct srv_fill *fills,
                   size_t n_fills)
{
    const char *at = template_bytes(which);
    const char *open = NULL;

    while ((open = strstr(at, "{{")) != NULL) {
        const char *close = strstr(open, "}}");
        char name[32];

        if (close == NULL)
            break;
        srv_text_bytes(text, at, (size_t)(open - at));
        snprintf(name, sizeof name, "%.*s", (int)(close - open - 2), open + 2);
        put_value(site, text, name, fills, n_fills);
        at = close + 2;
    }
    srv_text_bytes(text, at, strlen(at));
}
