/*
 * call_pages.c: the pages for people, and the files that they load.
 */
#include <stdlib.h>
#include <string.h>

#include "call_parts.h"
#include "desk.h"
#include "page.h"
#include "route.h"
#include "server.h"

#define LIST_MOST 20U /* jobs on the first page */

/* ---- files ------------------------------------------------------------- */

static enum srv_step begin_asset(struct srv_request *request)
{
    struct srv_answer *file =
        srv_site_file(&request->server->site, request->param);

    if (file != NULL)
        return srv_call_reply(request, srv_answer_ref(file));
    SRV_REFUSE(request, PROTO_NOT_FOUND, "no page loads a file of that name");
    return SRV_STEP_REPLY;
}

/* ---- the first page ---------------------------------------------------- */

/* A store that fails is no reason to show no page: its script says so. */
static enum srv_step begin_home(struct srv_request *request)
{
    struct srv_job_list list = {
        .owner = request->principal, .state = -1, .n_most = LIST_MOST};

    if (request->who == NULL)
        return srv_call_reply(request, srv_page_home(request, NULL));
    list.records = calloc(list.n_most, sizeof *list.records);
    if (list.records == NULL)
        return srv_call_reply(request, NULL);
    if (srv_store_list_jobs(request->server->store, &list) != SRV_STORE_OK)
        list.n_records = 0;
    (void)srv_call_reply(request, srv_page_home(request, &list));
    for (size_t i = 0; i < list.n_records; i++)
        srv_job_record_release(&list.records[i]);
    free(list.records);
    return SRV_STEP_REPLY;
}

/* ---- a job ------------------------------------------------------------- */

static enum srv_step show_living(struct srv_request *request)
{
    const struct srv_job_view view =
        srv_desk_view(&request->server->desk, request->job);

    return srv_call_reply(request, srv_page_living(request, &view));
}

/* Somebody with a token may see a job that is not there for who has none. */
static enum srv_step show_absent(struct srv_request *request)
{
    const bool may_be_others = *request->server->config.tokens != '\0' &&
                               strcmp(request->principal, SRV_ANONYMOUS) == 0;

    if (request->problem.kind != PROTO_NOT_FOUND || !may_be_others)
        return SRV_STEP_REPLY;
    request->problem = (struct proto_problem){.kind = PROTO_NO_PROBLEM};
    return srv_call_reply(request, srv_page_shell(request));
}

static enum srv_step begin_job_page(struct srv_request *request)
{
    struct srv_job_record record;

    if (request->who == NULL)
        return srv_call_reply(request, srv_page_shell(request));
    request->job = srv_desk_find(&request->server->desk, request->param,
                                 request->principal);
    if (request->job != NULL)
        return show_living(request);
    if (!srv_call_read_record(request, 0, &record))
        return show_absent(request);
    const bool has_report = record.state == SRV_STATE_SUCCEEDED &&
                            srv_call_of(record.call) != SRV_CALL_BATCH;
    if (!has_report)
        (void)srv_call_reply(request, srv_page_over(request, &record));
    srv_job_record_release(&record);
    return has_report ? srv_call_derive_begin(request) : SRV_STEP_REPLY;
}

/* ---- which call -------------------------------------------------------- */

enum srv_step srv_call_page_begin(struct srv_request *request)
{
    if (request->route->call == SRV_CALL_ASSET)
        return begin_asset(request);
    return request->route->call == SRV_CALL_PAGE_HOME ? begin_home(request)
                                                      : begin_job_page(request);
}
