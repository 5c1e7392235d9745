/*
 * registry.c: the list of connections and its sweep.
 */
#include "registry.h"

#include <stdlib.h>

#include "clock.h"
#include "job.h"
#include "peer.h"

#define RETRY_AFTER_STOP_S 1U /* another replica, or this one restarted */

int srv_registry_init(struct srv_registry *registry)
{
    *registry = (struct srv_registry){0};
    return pthread_mutex_init(&registry->lock, NULL);
}

void srv_registry_release(struct srv_registry *registry)
{
    pthread_mutex_destroy(&registry->lock);
}

struct srv_conn *srv_registry_open(struct srv_registry *registry, int fd,
                                   uint64_t deadline_ns)
{
    struct srv_conn *conn = calloc(1, sizeof *conn);

    pthread_mutex_lock(&registry->lock);
    registry->n_opened++;
    if (conn != NULL) {
        conn->fd = fd;
        conn->deadline_ns = deadline_ns;
        conn->next = registry->first;
        if (conn->next != NULL)
            conn->next->previous = conn;
        registry->first = conn;
        registry->n_connections++;
    }
    pthread_mutex_unlock(&registry->lock);
    return conn;
}

void srv_registry_close(struct srv_registry *registry, struct srv_conn *conn)
{
    pthread_mutex_lock(&registry->lock);
    if (conn->next != NULL)
        conn->next->previous = conn->previous;
    if (conn->previous != NULL)
        conn->previous->next = conn->next;
    else
        registry->first = conn->next;
    registry->n_connections--;
    pthread_mutex_unlock(&registry->lock);
    free(conn);
}

void srv_registry_begin(struct srv_registry *registry,
                        struct srv_request *request, uint64_t header_timeout_ns)
{
    const uint64_t own_ns = request->started_ns + header_timeout_ns;

    pthread_mutex_lock(&registry->lock);
    request->stage = SRV_HEAD;
    /* The first header of a connection counts from its opening. */
    request->deadline_ns = own_ns < request->conn->deadline_ns
                               ? own_ns
                               : request->conn->deadline_ns;
    request->conn->request = request;
    pthread_mutex_unlock(&registry->lock);
}

enum srv_stage srv_registry_end(struct srv_registry *registry,
                                struct srv_request *request,
                                uint64_t idle_deadline_ns)
{
    pthread_mutex_lock(&registry->lock);
    const enum srv_stage stage = request->stage;
    if (request->counted)
        registry->n_counted--;
    request->conn->request = NULL;
    request->conn->has_ended = false;
    request->conn->deadline_ns = idle_deadline_ns;
    pthread_mutex_unlock(&registry->lock);
    return stage;
}

enum srv_stage srv_registry_take(struct srv_registry *registry,
                                 struct srv_request *request)
{
    pthread_mutex_lock(&registry->lock);
    const enum srv_stage stage = request->stage;
    if (stage == SRV_HEAD || stage == SRV_BODY)
        request->stage = SRV_BUSY;
    if (stage == SRV_HEAD) { /* its header is read: a drain waits for it */
        request->counted = true;
        registry->n_counted++;
    }
    pthread_mutex_unlock(&registry->lock);
    return stage;
}

void srv_registry_move(struct srv_registry *registry,
                       struct srv_request *request, enum srv_stage stage,
                       uint64_t deadline_ns)
{
    pthread_mutex_lock(&registry->lock);
    request->stage = stage;
    request->deadline_ns = deadline_ns;
    pthread_mutex_unlock(&registry->lock);
}

void srv_registry_wait(struct srv_registry *registry,
                       struct srv_request *request, struct srv_job *job,
                       uint64_t deadline_ns)
{
    pthread_mutex_lock(&registry->lock);
    request->stage = SRV_WAITING;
    request->deadline_ns = deadline_ns;
    request->job = job;
    job->request = request;
    pthread_mutex_unlock(&registry->lock);
}

struct srv_request *srv_registry_finish(struct srv_registry *registry,
                                        const struct srv_job *job)
{
    pthread_mutex_lock(&registry->lock);
    struct srv_request *request = job->request;
    if (request != NULL)
        request->stage = SRV_READY;
    pthread_mutex_unlock(&registry->lock);
    return request;
}

size_t srv_registry_n_connections(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    const size_t n = registry->n_connections;
    pthread_mutex_unlock(&registry->lock);
    return n;
}

bool srv_registry_is_quiet(struct srv_registry *registry, uint64_t n_handed)
{
    pthread_mutex_lock(&registry->lock);
    const bool is_quiet =
        registry->n_connections == 0 && registry->n_opened >= n_handed;
    pthread_mutex_unlock(&registry->lock);
    return is_quiet;
}

size_t srv_registry_n_counted(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    const size_t n = registry->n_counted;
    pthread_mutex_unlock(&registry->lock);
    return n;
}

/* ---- the sweep, all with the lock held --------------------------------- */

/* Parts a waiting request from its job; both go to the caller. */
static void take_waiting(struct srv_request *request, struct srv_sweep *sweep)
{
    struct srv_job *job = request->job;

    job->request = NULL;
    job->next_cancelled = sweep->cancel;
    sweep->cancel = job;
    request->job = NULL;
    request->stage = SRV_READY;
    request->next = sweep->resume;
    sweep->resume = request;
}

static void sweep_waiting(struct srv_request *request, uint64_t now_ns,
                          bool check_peers, bool stop, struct srv_sweep *sweep)
{
    struct proto_problem *problem = &request->problem;

    if (stop) {
        proto_problem_set(problem, PROTO_DRAINING, NULL,
                          "the server is shutting down and the drain time is "
                          "over; send the request again elsewhere");
        request->retry_after_s = RETRY_AFTER_STOP_S;
        request->close = true;
    } else if (now_ns >= request->deadline_ns) {
        proto_problem_set(problem, PROTO_DEADLINE, NULL,
                          "no plan within %u s, the job was cancelled; ask for "
                          "a longer wait (Prefer: wait=N, N up to 60)",
                          request->wait_s);
    } else if (check_peers && srv_peer_is_gone(request->conn->fd)) {
        proto_problem_set(problem, PROTO_BAD_REQUEST, NULL,
                          "the client closed the connection");
        request->outcome = "client-gone";
        request->close = true;
    } else {
        return;
    }
    take_waiting(request, sweep);
}

/* Why an unfinished request is refused from outside. */
static void set_cut_problem(struct srv_request *request, bool stop)
{
    if (stop) {
        proto_problem_set(&request->problem, PROTO_DRAINING, NULL,
                          "the server is shutting down; send the request again "
                          "elsewhere");
        request->retry_after_s = RETRY_AFTER_STOP_S;
    } else {
        proto_problem_set(&request->problem, PROTO_SLOW_REQUEST, NULL,
                          "the request %s did not arrive in time",
                          request->stage == SRV_HEAD ? "header" : "body");
    }
}

static void refuse(struct srv_request *request)
{
    request->stage = SRV_CUT;
    request->status = proto_problem_status(request->problem.kind);
    srv_peer_refuse(request->conn->fd, &request->problem, request->id,
                    request->retry_after_s);
}

static void cut(struct srv_request *request, bool stop)
{
    set_cut_problem(request, stop);
    refuse(request);
}

/*
 * A connection on which something is still to be received. The library reads
 * until it has less than it asked for, and so does not see an end that came
 * together with the last bytes: for epoll both were one event. Shutting down
 * makes another. Twice seen, because what was read may be on its way through
 * the HTTP thread.
 */
static void sweep_ended(struct srv_conn *conn)
{
    const bool had_ended = conn->has_ended;

    conn->has_ended = srv_peer_has_ended(conn->fd);
    if (had_ended && conn->has_ended)
        srv_peer_shutdown(conn->fd);
}

static void sweep_conn(struct srv_conn *conn, uint64_t now_ns, bool check_peers,
                       bool stop)
{
    struct srv_request *request = conn->request;
    const uint64_t deadline_ns =
        request == NULL ? conn->deadline_ns : request->deadline_ns;
    const bool is_late = now_ns >= deadline_ns;

    if (request == NULL || request->stage == SRV_REPLY) {
        if (is_late)
            srv_peer_shutdown(conn->fd);
        else if (request == NULL && check_peers)
            sweep_ended(conn);
    } else if (request->stage == SRV_HEAD || request->stage == SRV_BODY) {
        if (is_late || (stop && request->stage == SRV_BODY))
            cut(request, stop);
        else if (check_peers)
            sweep_ended(conn);
    }
}

struct srv_sweep srv_registry_sweep(struct srv_registry *registry,
                                    uint64_t now_ns, bool check_peers,
                                    bool stop)
{
    struct srv_sweep sweep = {0};

    pthread_mutex_lock(&registry->lock);
    for (struct srv_conn *c = registry->first; c != NULL; c = c->next) {
        if (c->request != NULL && c->request->stage == SRV_WAITING)
            sweep_waiting(c->request, now_ns, check_peers, stop, &sweep);
        else
            sweep_conn(c, now_ns, check_peers, stop);
    }
    pthread_mutex_unlock(&registry->lock);
    return sweep;
}

void srv_registry_refuse(struct srv_registry *registry,
                         struct srv_request *request)
{
    pthread_mutex_lock(&registry->lock);
    refuse(request);
    pthread_mutex_unlock(&registry->lock);
}

void srv_registry_shutdown(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    for (const struct srv_conn *c = registry->first; c != NULL; c = c->next) {
        if (c->request == NULL || c->request->stage != SRV_WAITING)
            srv_peer_shutdown(c->fd);
    }
    pthread_mutex_unlock(&registry->lock);
}
