/*
 * request_key.c: the beginning of a key; body.c adds the document.
 */
#include "request_key.h"

#include "server.h"

void srv_key_begin(struct srv_hash *hash, const char *principal,
                   enum srv_call call, enum proto_format format)
{
    srv_hash_text(hash, principal);
    srv_hash_text(hash, srv_call_name(call));
    srv_hash_text(hash, format == PROTO_TEXT ? "text" : "json");
}

bool srv_request_begin_key(struct srv_request *request)
{
    request->hash = srv_hash_new();
    if (request->hash == NULL) {
        SRV_REFUSE(request, PROTO_OUT_OF_MEMORY, "no memory for a request");
        return false;
    }
    srv_key_begin(request->hash, request->principal, request->route->call,
                  request->format);
    if (request->route->call == SRV_CALL_GROUP)
        srv_groups_begin_key(request);
    else if (request->route->call == SRV_CALL_WHAT_IF)
        srv_hash_text(request->hash, request->param);
    return true;
}
