/*
 * registry.c: the list of connections and its sweep.
 */
#include "registry.h"

#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "events.h"
#include "job.h"
#include "peer.h"
#include "server.h"

#define RETRY_AFTER_STOP_S 1U /* another replica, or this one restarted */
/* How long a client may take to read what a stream has written. */
#define STREAM_WRITE_NS (UINT64_C(10) * SRV_NS_PER_S)
/* How long the HTTP thread may be behind with reading. */
#define BEHIND_NS (UINT64_C(20) * SRV_NS_PER_S)
/* How long the HTTP thread may take for what it is at. */
#define SURE_NS (UINT64_C(500) * SRV_NS_PER_MS)
/* How long connections may take to end before the library is stopped. */
#define END_NS (UINT64_C(3) * SRV_NS_PER_S)

int srv_registry_init(struct srv_registry *registry, uint64_t heartbeat_ns)
{
    *registry = (struct srv_registry){.heartbeat_ns = heartbeat_ns};
    return pthread_mutex_init(&registry->lock, NULL);
}

void srv_registry_release(struct srv_registry *registry)
{
    pthread_mutex_destroy(&registry->lock);
}

bool srv_registry_expect(struct srv_registry *registry, uint64_t most)
{
    pthread_mutex_lock(&registry->lock);
    const uint64_t n_on_their_way = registry->n_handed - registry->n_opened;
    const bool fits = registry->n_connections + n_on_their_way < most;
    if (fits)
        registry->n_handed++;
    pthread_mutex_unlock(&registry->lock);
    return fits;
}

void srv_registry_unexpect(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    registry->n_handed--;
    pthread_mutex_unlock(&registry->lock);
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

/* With the lock held, between requests: what is read from now on cannot be
 * answered, and so is no request. */
static void hang_up(struct srv_conn *conn)
{
    conn->hung_up = true;
    srv_peer_shutdown(conn->fd);
}

void srv_registry_make_room(struct srv_registry *registry, size_t most)
{
    struct srv_conn *oldest = NULL;
    size_t n_staying = 0;

    pthread_mutex_lock(&registry->lock);
    for (struct srv_conn *c = registry->first; c != NULL; c = c->next) {
        if (!c->hung_up) {
            oldest = c;
            n_staying++;
        }
    }
    if (n_staying >= most)
        hang_up(oldest);
    pthread_mutex_unlock(&registry->lock);
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

bool srv_registry_begin(struct srv_registry *registry,
                        struct srv_request *request, uint64_t header_timeout_ns)
{
    const uint64_t own_ns = request->started_ns + header_timeout_ns;

    pthread_mutex_lock(&registry->lock);
    const bool begins = !request->conn->hung_up;
    request->stage = SRV_HEAD;
    /* The first header of a connection counts from its opening. */
    request->deadline_ns = own_ns < request->conn->deadline_ns
                               ? own_ns
                               : request->conn->deadline_ns;
    if (begins) {
        request->conn->request = request;
        request->conn->late_ns = 0;
    }
    pthread_mutex_unlock(&registry->lock);
    return begins;
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
    request->conn->late_ns = 0;
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

static bool has_come(const struct srv_job *job, enum srv_awaits what)
{
    return what == SRV_AWAITS_END ? job->is_over : job->is_acked;
}

bool srv_registry_wait(struct srv_registry *registry,
                       struct srv_request *request, uint64_t deadline_ns)
{
    struct srv_job *job = request->job;

    pthread_mutex_lock(&registry->lock);
    const bool waits = !has_come(job, request->awaits);
    request->deadline_ns = deadline_ns;
    request->stage = waits ? SRV_WAITING : SRV_READY;
    request->saw_end = job->is_over;
    if (waits) {
        request->next_waiter = job->waiters;
        job->waiters = request;
    }
    pthread_mutex_unlock(&registry->lock);
    return waits;
}

void srv_registry_park(struct srv_registry *registry,
                       struct srv_request *request)
{
    pthread_mutex_lock(&registry->lock);
    request->stage = SRV_PARKED;
    pthread_mutex_unlock(&registry->lock);
}

/* With the lock held: puts a waiting request, already out of its job's list,
 * on a list of READY ones. */
static void make_ready(struct srv_request *request, struct srv_request **list)
{
    request->stage = SRV_READY;
    request->saw_end = request->job->is_over;
    request->next_waiter = NULL;
    request->next = *list;
    *list = request;
}

struct srv_request *srv_registry_release_waiters(struct srv_registry *registry,
                                                 struct srv_job *job,
                                                 enum srv_awaits what)
{
    struct srv_request *ready = NULL;
    struct srv_request **at = &job->waiters;

    pthread_mutex_lock(&registry->lock);
    job->is_over |= what == SRV_AWAITS_END;
    job->is_acked |= what == SRV_AWAITS_ACK;
    while (*at != NULL) {
        struct srv_request *request = *at;

        if (request->awaits == what) {
            *at = request->next_waiter;
            make_ready(request, &ready);
        } else {
            at = &request->next_waiter;
        }
    }
    pthread_mutex_unlock(&registry->lock);
    return ready;
}

struct srv_request *srv_registry_fail_acks(struct srv_registry *registry,
                                           struct srv_job *job,
                                           const struct proto_problem *problem)
{
    struct srv_request *ready = NULL;
    struct srv_request **at = &job->waiters;

    pthread_mutex_lock(&registry->lock);
    while (*at != NULL) {
        struct srv_request *request = *at;

        if (request->awaits != SRV_AWAITS_ACK) {
            at = &request->next_waiter;
            continue;
        }
        if (!request->asked_async && request->may_defer) {
            request->awaits = SRV_AWAITS_END; /* an answer is still possible */
            request->may_defer = false;
            request->deadline_ns = request->last_resort_ns;
        } else {
            request->problem = *problem;
        }
        if (request->awaits == SRV_AWAITS_END && !job->is_over) {
            at = &request->next_waiter;
        } else {
            *at = request->next_waiter;
            make_ready(request, &ready);
        }
    }
    pthread_mutex_unlock(&registry->lock);
    return ready;
}

size_t srv_registry_n_connections(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    const size_t n = registry->n_connections;
    pthread_mutex_unlock(&registry->lock);
    return n;
}

bool srv_registry_is_quiet(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    const bool is_quiet = registry->n_connections == 0 &&
                          registry->n_opened >= registry->n_handed;
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

static void leave_job(struct srv_request *request)
{
    struct srv_request **at = &request->job->waiters;

    while (*at != request)
        at = &(*at)->next_waiter;
    *at = request->next_waiter;
}

static void set_stop_problem(struct srv_request *request)
{
    proto_problem_set(&request->problem, PROTO_DRAINING, NULL,
                      "the server is shutting down and the drain time is over; "
                      "send the request again elsewhere");
    request->retry_after_s = RETRY_AFTER_STOP_S;
    request->close = true;
}

/* The wait is over. A request that only looks at a job is answered with what
 * there is; one whose job can go on without it becomes a deferred one. */
static void end_wait(struct srv_request *request, struct srv_sweep *sweep)
{
    if (request->may_defer && request->awaits == SRV_AWAITS_END) {
        request->awaits = SRV_AWAITS_ACK;
        request->deadline_ns = request->last_resort_ns;
        request->next = sweep->defer;
        sweep->defer = request;
        return;
    }
    if (request->is_interested && request->route->call != SRV_CALL_GROUP)
        proto_problem_set(&request->problem, PROTO_DEADLINE, NULL,
                          "no answer within %u s, and the job %s; it was "
                          "cancelled",
                          request->wait_s,
                          srv_route_derives(request->route)
                              ? "goes on only while somebody waits (Prefer: "
                                "wait=N)"
                              : "could not be kept");
    leave_job(request);
    make_ready(request, &sweep->resume);
}

static void sweep_waiting(struct srv_request *request, uint64_t now_ns,
                          bool check_peers, bool stop, struct srv_sweep *sweep)
{
    if (stop) {
        set_stop_problem(request);
    } else if (check_peers && srv_peer_is_gone(request->conn->fd)) {
        proto_problem_set(&request->problem, PROTO_BAD_REQUEST, NULL,
                          "the client closed the connection");
        request->outcome = "client-gone";
        request->close = true;
    } else {
        if (now_ns >= request->deadline_ns)
            end_wait(request, sweep);
        return;
    }
    leave_job(request);
    make_ready(request, &sweep->resume);
}

/* A stream goes on when there is something to say, or nobody to say it to. */
static void sweep_parked(struct srv_registry *registry,
                         struct srv_request *request, uint64_t now_ns,
                         bool check_peers, bool stop, struct srv_sweep *sweep)
{
    if (!stop && !srv_events_has_news(request) &&
        now_ns - request->event_sent_ns < registry->heartbeat_ns &&
        !(check_peers && srv_peer_is_gone(request->conn->fd)))
        return;
    if (stop)
        request->close = true;
    request->stage = SRV_REPLY;
    request->deadline_ns = now_ns + STREAM_WRITE_NS;
    request->next = sweep->resume;
    sweep->resume = request;
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
    const struct srv_refusal refusal = {
        .problem = &request->problem,
        .request_id = request->id,
        .retry_after_s = request->retry_after_s,
        .is_tls = srv_is_tls(request->server),
    };

    srv_peer_refuse(request->conn->fd, &refusal);
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

/* Past a deadline, for sure: what the HTTP thread has read, or has not written
 * yet, may be on its way through it. */
static bool is_past(struct srv_conn *conn, bool is_late, uint64_t now_ns)
{
    if (!is_late)
        conn->late_ns = 0;
    else if (conn->late_ns == 0)
        conn->late_ns = now_ns;
    return is_late && now_ns - conn->late_ns >= SURE_NS;
}

/*
 * The same while something is to be received. What was sent in time and has not
 * been read is no delay of the client's but of the HTTP thread, which has
 * thousands to see to after a burst. Not for ever: the library also leaves
 * unread what follows a request that it answers by itself.
 */
static bool is_overdue(struct srv_conn *conn, uint64_t deadline_ns,
                       uint64_t now_ns)
{
    const bool is_late = now_ns >= deadline_ns;
    const bool is_ours = is_late && now_ns - deadline_ns < BEHIND_NS &&
                         srv_peer_has_sent(conn->fd);

    return is_past(conn, is_late && !is_ours, now_ns);
}

static void sweep_conn(struct srv_conn *conn, uint64_t now_ns, bool check_peers,
                       bool stop)
{
    struct srv_request *request = conn->request;
    const uint64_t deadline_ns =
        request == NULL ? conn->deadline_ns : request->deadline_ns;

    if (request != NULL && request->stage == SRV_REPLY) {
        if (is_past(conn, now_ns >= deadline_ns, now_ns))
            srv_peer_shutdown(conn->fd);
    } else if (request == NULL) {
        if (is_overdue(conn, deadline_ns, now_ns))
            hang_up(conn);
        else if (check_peers)
            sweep_ended(conn);
    } else if (request->stage == SRV_HEAD || request->stage == SRV_BODY) {
        if (is_overdue(conn, deadline_ns, now_ns) ||
            (stop && request->stage == SRV_BODY))
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
        else if (c->request != NULL && c->request->stage == SRV_PARKED)
            sweep_parked(registry, c->request, now_ns, check_peers, stop,
                         &sweep);
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

void srv_registry_refuse_if(struct srv_registry *registry,
                            bool (*is_bad)(struct srv_request *request))
{
    pthread_mutex_lock(&registry->lock);
    for (struct srv_conn *c = registry->first; c != NULL; c = c->next) {
        if (c->request != NULL && c->request->stage == SRV_HEAD &&
            is_bad(c->request))
            refuse(c->request);
    }
    pthread_mutex_unlock(&registry->lock);
}

void srv_registry_shutdown(struct srv_registry *registry)
{
    pthread_mutex_lock(&registry->lock);
    for (const struct srv_conn *c = registry->first; c != NULL; c = c->next) {
        if (c->request == NULL || (c->request->stage != SRV_WAITING &&
                                   c->request->stage != SRV_PARKED))
            srv_peer_shutdown(c->fd);
    }
    pthread_mutex_unlock(&registry->lock);
}

/* With the lock held. Whoever is being answered goes on, and who has asked is
 * read first: both end with an answer that says so. Except `at_once`. */
static void end_conn(struct srv_conn *conn, bool at_once)
{
    struct srv_request *request = conn->request;
    const bool may_go = at_once || !srv_peer_has_sent(conn->fd);

    if (request == NULL) {
        if (may_go)
            hang_up(conn);
    } else if (request->stage == SRV_HEAD || request->stage == SRV_BODY) {
        if (may_go)
            cut(request, true);
    } else if (at_once || request->stage == SRV_CUT) {
        srv_peer_shutdown(conn->fd);
    }
}

static void end_conns(struct srv_registry *registry, bool at_once)
{
    pthread_mutex_lock(&registry->lock);
    for (struct srv_conn *c = registry->first; c != NULL; c = c->next)
        end_conn(c, at_once);
    pthread_mutex_unlock(&registry->lock);
}

/* Again and again: the library misses an end that comes together with bytes,
 * and connections may still be on their way to it. */
void srv_registry_end_all(struct srv_registry *registry)
{
    const struct timespec pause = {.tv_nsec = 2 * (long)SRV_NS_PER_MS};
    const uint64_t began_ns = srv_now_ns();
    uint64_t spent_ns = 0;

    while (!srv_registry_is_quiet(registry) && spent_ns < END_NS) {
        end_conns(registry, spent_ns >= END_NS / 2);
        nanosleep(&pause, NULL);
        spent_ns = srv_now_ns() - began_ns;
    }
}
