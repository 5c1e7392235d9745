/*
 * check_uri.c: the request target, before the library takes it apart.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "query.h"
#include "route.h"

#define MOST_ARGUMENTS 100U

static size_t n_arguments(const char *query)
{
    size_t n = 1;

    for (; *query != '\0'; query++)
        n += *query == '&' || *query == '?';
    return n;
}

static bool keep_query(struct srv_request *request, const char *query)
{
    request->query_bytes = malloc(strlen(query) + 1);
    if (request->query_bytes == NULL)
        return false;
    memcpy(request->query_bytes, query, strlen(query) + 1);
    request->query = request->query_bytes;
    return true;
}

bool srv_check_uri(struct srv_request *request, const char *uri)
{
    request->query = "";
    if (uri == NULL || *uri != '/') {
        request->bad_uri = "must be a path that begins with /";
        return true;
    }
    for (const char *at = uri; *at != '\0'; at++) {
        if (*at <= ' ' || *at >= 0x7f)
            request->bad_uri = "has a blank, control or non-ASCII byte; write "
                               "it as %XX";
        if (strncmp(at, "%00", 3) == 0)
            request->bad_uri = "holds a NUL (%00)";
    }
    const char *query = strchr(uri, '?');
    const size_t n_path = query == NULL ? strlen(uri) : (size_t)(query - uri);
    const char *param = NULL;
    size_t n_param = 0;

    request->route = srv_route_find(uri, n_path, &param, &n_param);
    request->uri_end = uri + strlen(uri);
    if (n_param >= sizeof request->param)
        request->bad_uri =
            "has a segment that is too long to be a name of ours";
    else if (n_param > 0)
        memcpy(request->param, param, n_param);
    if (query != NULL && strlen(query + 1) > SRV_QUERY_MOST)
        request->bad_uri = "has a query of more than 30000 bytes";
    else if (query != NULL && n_arguments(query + 1) > MOST_ARGUMENTS)
        request->bad_uri = "has more than 100 query arguments";
    else if (query != NULL)
        return keep_query(request, query + 1);
    return true;
}
