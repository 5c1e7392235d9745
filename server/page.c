/*
 * page.c: what the templates of the pages are filled with.
 */
#include "page.h"

#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "desk.h"
#include "server.h"
#include "site.h"

#define HTML_TYPE      "text/html; charset=utf-8"
#define N_FILLS(fills) (sizeof(fills) / sizeof(fills)[0])
#define SHORT_ID       8 /* digits of an id in a list */

const char srv_page_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
    "data:; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'";

/* What a text has come to; "" without memory, which the text remembers. */
static const char *words_of(const struct srv_text *text)
{
    return text->bytes == NULL ? "" : text->bytes;
}

/* Where this service is, as the client reached it. */
static void put_origin(struct srv_text *text, const struct srv_request *request)
{
    const char *host = MHD_lookup_connection_value(
        request->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

    srv_text_printf(text, srv_is_tls(request->server) ? "https://" : "http://");
    srv_text_html(text, host == NULL ? "localhost" : host);
}

/* ---- around every page ------------------------------------------------- */

struct page {
    const char *title;
    const char *head; /* HTML of its own, or "" */
    struct srv_text *main;
    const char *job; /* whose report it shows, or "" */
};

/* Takes over what `main` holds. */
static struct srv_text lay_out(const struct srv_server *server,
                               const struct page *page)
{
    const bool has_tokens = *server->config.tokens != '\0';
    struct srv_text text = {0};
    const struct srv_fill fills[] = {
        {"title", page->title},
        {"head", page->head},
        {"main", words_of(page->main)},
        {"tokens", has_tokens ? "yes" : "no"},
        {"engine", PROTO_ENGINE},
        {"job", page->job},
        {"skip", page->job[0] == '\0' ? "main" : "report"},
    };

    srv_site_fill(&server->site, &text, SRV_TEMPLATE_LAYOUT, fills,
                  N_FILLS(fills));
    text.failed = text.failed || page->main->failed;
    srv_text_release(page->main);
    return text;
}

static struct srv_answer *answer_page(const struct srv_server *server,
                                      const struct page *page)
{
    struct srv_text text = lay_out(server, page);

    return srv_text_answer(&text, HTML_TYPE);
}

/* ---- the first page ---------------------------------------------------- */

static void put_time(struct srv_text *text, int64_t ms)
{
    const time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    char date[32];

    if (ms == 0 || gmtime_r(&seconds, &parts) == NULL)
        return;
    strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S UTC", &parts);
    srv_text_printf(text, "%s", date);
}

static void put_took(struct srv_text *text, const struct srv_job_record *record)
{
    if (record->started_ms != 0 && record->finished_ms >= record->started_ms)
        srv_text_printf(text, "%" PRId64 " ms",
                        record->finished_ms - record->started_ms);
}

static void put_row(struct srv_text *text, const struct srv_job_record *record,
                    enum srv_state state)
{
    const char *word = srv_state_name(state);

    srv_text_printf(text,
                    "<tr><th scope=\"row\"><a href=\"/jobs/%s\"><code>%.*s"
                    "</code></a></th><td>",
                    record->id, SHORT_ID, record->id);
    srv_text_html(text, record->call);
    srv_text_printf(text,
                    "</td><td><span class=\"state %s\">%s</span></td><td>",
                    word, word);
    srv_text_html(text, record->outcome);
    srv_text_printf(text, "</td><td>");
    put_time(text, record->created_ms);
    srv_text_printf(text, "</td><td class=\"number\">");
    put_took(text, record);
    srv_text_printf(text, "</td></tr>\n");
}

/* A living job has not told the store yet how far it is. */
static void put_rows(struct srv_text *text, struct srv_desk *desk,
                     const struct srv_job_list *list)
{
    for (size_t i = 0; i < list->n_records; i++) {
        const struct srv_job_record *record = &list->records[i];
        struct srv_job *job = srv_desk_find(desk, record->id, record->owner);
        enum srv_state state = record->state;

        if (job != NULL)
            state = srv_desk_view(desk, job).state;
        srv_job_unref(job);
        put_row(text, record, state);
    }
}

static const char *list_words(const struct srv_job_list *list)
{
    if (list == NULL)
        return "This service shows them to who has a token.";
    return list->n_records == 0 ? "There are none yet." : "The newest first.";
}

struct srv_answer *srv_page_home(const struct srv_request *request,
                                 const struct srv_job_list *list)
{
    struct srv_server *server = request->server;
    struct srv_text rows = {0};
    struct srv_text origin = {0};
    struct srv_text main = {0};

    if (list != NULL)
        put_rows(&rows, &server->desk, list);
    put_origin(&origin, request);
    const struct srv_fill fills[] = {
        {"jobs", words_of(&rows)},
        {"jobs-state", list_words(list)},
        {"origin", words_of(&origin)},
    };
    srv_site_fill(&server->site, &main, SRV_TEMPLATE_HOME, fills,
                  N_FILLS(fills));
    main.failed = main.failed || rows.failed || origin.failed;
    srv_text_release(&rows);
    srv_text_release(&origin);
    return answer_page(server, &(struct page){.title = "rematd: what to save",
                                              .head = "",
                                              .main = &main,
                                              .job = ""});
}

/* ---- a job ------------------------------------------------------------- */

/* What differs between the pages of a job. */
struct look {
    enum srv_template template;
    const char *head;
    const char *state; /* a word */
    const char *words; /* HTML */
    const char *problem;
};

static struct srv_answer *answer_job(const struct srv_request *request,
                                     const struct look *look)
{
    const struct srv_server *server = request->server;
    struct srv_text origin = {0};
    struct srv_text id = {0};
    struct srv_text title = {0};
    struct srv_text main = {0};

    put_origin(&origin, request);
    srv_text_html(&id, request->param);
    srv_text_printf(&title, "Job ");
    srv_text_html(&title, request->param);
    const struct srv_fill fills[] = {
        {"id", words_of(&id)},      {"origin", words_of(&origin)},
        {"state", look->state},     {"state-words", look->words},
        {"problem", look->problem},
    };
    srv_site_fill(&server->site, &main, look->template, fills, N_FILLS(fills));
    main.failed = main.failed || origin.failed || id.failed || title.failed;
    struct srv_answer *answer =
        answer_page(server, &(struct page){.title = words_of(&title),
                                           .head = look->head,
                                           .main = &main,
                                           .job = ""});
    srv_text_release(&origin);
    srv_text_release(&id);
    srv_text_release(&title);
    return answer;
}

struct srv_answer *srv_page_living(const struct srv_request *request,
                                   const struct srv_job_view *view)
{
    static const char again[] =
        "<noscript><meta http-equiv=\"refresh\" content=\"3\"></noscript>\n";
    const char *state = srv_state_name(view->state);
    struct srv_text words = {0};

    if (view->state == SRV_STATE_QUEUED)
        srv_text_printf(&words, "Queued, %zu before it.", view->n_before);
    else
        srv_text_printf(&words, "It is %s.", state);
    struct srv_answer *answer =
        answer_job(request, &(struct look){.template = SRV_TEMPLATE_JOB,
                                           .head = again,
                                           .state = state,
                                           .words = words_of(&words),
                                           .problem = ""});
    srv_text_release(&words);
    return answer;
}

struct srv_answer *srv_page_over(const struct srv_request *request,
                                 const struct srv_job_record *record)
{
    const char *state = srv_state_name(record->state);
    struct srv_text words = {0};
    struct srv_text problem = {0};

    srv_text_printf(&words, "Over: %s.", state);
    if (record->problem != NULL) {
        srv_text_printf(&problem, "<noscript><pre>");
        srv_text_html(&problem, record->problem);
        srv_text_printf(&problem, "</pre></noscript>");
    }
    struct srv_answer *answer =
        answer_job(request, &(struct look){.template = SRV_TEMPLATE_JOB,
                                           .head = "",
                                           .state = state,
                                           .words = words_of(&words),
                                           .problem = words_of(&problem)});
    srv_text_release(&words);
    srv_text_release(&problem);
    return answer;
}

struct srv_answer *srv_page_shell(const struct srv_request *request)
{
    return answer_job(request, &(struct look){.template = SRV_TEMPLATE_SHELL,
                                              .head = "",
                                              .state = "",
                                              .words = "",
                                              .problem = ""});
}

char *srv_page_report(const struct srv_server *server, const char *job_id,
                      const char *fragment, size_t *length)
{
    struct srv_text main = {0};
    struct srv_text title = {0};

    srv_text_bytes(&main, fragment, strlen(fragment));
    srv_text_printf(&title, "Job %.*s: report", SHORT_ID, job_id);
    struct srv_text text =
        lay_out(server, &(struct page){.title = words_of(&title),
                                       .head = "",
                                       .main = &main,
                                       .job = job_id});
    text.failed = text.failed || title.failed;
    srv_text_release(&title);
    if (text.failed)
        srv_text_release(&text);
    *length = text.length;
    return text.bytes;
}

/* ---- a problem --------------------------------------------------------- */

char *srv_page_problem(const struct srv_request *request,
                       const struct proto_problem *problem)
{
    const struct srv_server *server = request->server;
    const char *title = proto_problem_title(problem->kind);
    struct srv_text detail = {0};
    struct srv_text main = {0};
    char status[8];

    snprintf(status, sizeof status, "%d", proto_problem_status(problem->kind));
    srv_text_html(&detail, problem->detail);
    const struct srv_fill fills[] = {
        {"title", title},
        {"detail", words_of(&detail)},
        {"code", proto_problem_code(problem->kind)},
        {"status", status},
        {"request", request->id}, /* a token: SRV_REQUEST_ID_SIZE */
    };
    srv_site_fill(&server->site, &main, SRV_TEMPLATE_PROBLEM, fills,
                  N_FILLS(fills));
    main.failed = main.failed || detail.failed;
    srv_text_release(&detail);
    struct srv_text text = lay_out(
        server,
        &(struct page){.title = title, .head = "", .main = &main, .job = ""});
    if (text.failed)
        srv_text_release(&text);
    return text.bytes;
}
