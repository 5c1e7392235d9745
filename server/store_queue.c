/*
 * store_queue.c: writes on their way to the writer thread.
 *
 * New jobs and removals are refused when too many writes wait. Starts and ends
 * are not: they are no more than the jobs that were taken. Answers by key are
 * only a cache and give way first.
 */
#include <stdlib.h>
#include <string.h>

#include "store_sqlite.h"

void srv_write_free(struct srv_write *write)
{
    if (write == NULL)
        return;
    free(write->job.note);
    free(write->job.problem);
    srv_answer_unref(write->job.answer);
    srv_packed_release(&write->packed);
    free(write);
}

static struct srv_write *write_new(enum srv_write_kind kind,
                                   srv_store_done *done, void *context)
{
    struct srv_write *write = calloc(1, sizeof *write);

    if (write != NULL) {
        write->kind = kind;
        write->done = done;
        write->context = context;
    }
    return write;
}

/* Takes the write. At most n_most may wait before it. */
static enum srv_store_result hand_over(struct srv_sqlite *store,
                                       struct srv_write *write, size_t n_most)
{
    pthread_mutex_lock(&store->lock);
    const bool refused = store->closing || store->n_waiting >= n_most;
    if (!refused) {
        if (store->last != NULL)
            store->last->next = write;
        else
            store->first = write;
        store->last = write;
        store->n_waiting++;
        pthread_cond_signal(&store->wake);
    } else if (write->kind == SRV_WRITE_ANSWER) {
        store->status.n_dropped++;
    }
    pthread_mutex_unlock(&store->lock);
    if (!refused)
        return SRV_STORE_OK;
    srv_write_free(write);
    return SRV_STORE_BUSY;
}

/* False without memory. */
static bool copy_text(char **out, const char *text)
{
    if (text == NULL)
        return true;
    *out = strdup(text);
    return *out != NULL;
}

static void copy_id(struct srv_write *write, const char *id)
{
    const size_t length = strnlen(id, sizeof write->job.id - 1);

    memcpy(write->job.id, id, length);
}

enum srv_store_result srv_sqlite_put_job(struct srv_store *base,
                                         const struct srv_job_record *record,
                                         srv_store_done *done, void *context)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    struct srv_write *write = write_new(SRV_WRITE_PUT, done, context);

    if (write == NULL)
        return SRV_STORE_NO_MEMORY;
    write->job = *record;
    write->job.note = NULL;
    write->job.problem = NULL;
    write->job.answer = NULL;
    if (!copy_text(&write->job.note, record->note)) {
        srv_write_free(write);
        return SRV_STORE_NO_MEMORY;
    }
    return hand_over(store, write, store->options.n_waiting);
}

enum srv_store_result srv_sqlite_start_job(struct srv_store *base,
                                           const char *id, int64_t started_ms,
                                           srv_store_done *done, void *context)
{
    struct srv_write *write = write_new(SRV_WRITE_START, done, context);

    if (write == NULL)
        return SRV_STORE_NO_MEMORY;
    copy_id(write, id);
    write->job.started_ms = started_ms;
    return hand_over(srv_sqlite_of(base), write, SIZE_MAX);
}

enum srv_store_result srv_sqlite_finish_job(struct srv_store *base,
                                            const struct srv_job_end *end,
                                            srv_store_done *done, void *context)
{
    struct srv_write *write = write_new(SRV_WRITE_FINISH, done, context);
    const char *digest = end->digest;

    if (write == NULL || !copy_text(&write->job.problem, end->problem) ||
        !copy_text(&write->job.note, end->note)) {
        srv_write_free(write);
        return SRV_STORE_NO_MEMORY;
    }
    copy_id(write, end->id);
    write->job.state = end->state;
    write->job.started_ms = end->started_ms;
    write->job.finished_ms = end->finished_ms;
    if (end->answer != NULL) {
        write->job.answer = srv_answer_ref(end->answer);
        if (digest == NULL)
            digest = end->answer->digest;
    }
    if (digest != NULL)
        memcpy(write->job.digest, digest,
               strnlen(digest, sizeof write->job.digest - 1));
    if (end->key != NULL && end->answer != NULL) {
        write->has_key = true;
        write->key = *end->key;
    }
    return hand_over(srv_sqlite_of(base), write, SIZE_MAX);
}

enum srv_store_result srv_sqlite_remove_job(struct srv_store *base,
                                            const char *id,
                                            srv_store_done *done, void *context)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    struct srv_write *write = write_new(SRV_WRITE_REMOVE, done, context);

    if (write == NULL)
        return SRV_STORE_NO_MEMORY;
    copy_id(write, id);
    return hand_over(store, write, store->options.n_waiting);
}

void srv_sqlite_put_answer(struct srv_store *base, const struct srv_key *key,
                           struct srv_answer *answer)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    struct srv_write *write = write_new(SRV_WRITE_ANSWER, NULL, NULL);

    if (write == NULL)
        return;
    write->job.answer = srv_answer_ref(answer);
    write->has_key = true;
    write->key = *key;
    (void)hand_over(store, write, store->options.n_waiting / 2);
}

enum srv_store_result srv_sqlite_sweep(struct srv_store *base,
                                       srv_store_done *done, void *context)
{
    struct srv_sqlite *store = srv_sqlite_of(base);
    struct srv_write *write = write_new(SRV_WRITE_SWEEP, done, context);

    if (write == NULL)
        return SRV_STORE_NO_MEMORY;
    return hand_over(store, write, store->options.n_waiting);
}
