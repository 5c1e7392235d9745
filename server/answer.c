/*
 * answer.c: counted references to finished documents, and their coded forms.
 */
#include "answer.h"

#include <stdlib.h>

struct srv_answer *srv_answer_new_take(char *bytes, size_t length)
{
    struct srv_answer *answer = calloc(1, sizeof *answer);

    if (answer == NULL)
        return NULL;
    if (pthread_mutex_init(&answer->lock, NULL) != 0) {
        free(answer);
        return NULL;
    }
    atomic_init(&answer->n_users, 1);
    answer->bytes = bytes;
    answer->length = length;
    return answer;
}

struct srv_answer *srv_answer_ref(struct srv_answer *answer)
{
    atomic_fetch_add_explicit(&answer->n_users, 1, memory_order_relaxed);
    return answer;
}

void srv_answer_unref(struct srv_answer *answer)
{
    if (answer == NULL || atomic_fetch_sub_explicit(&answer->n_users, 1,
                                                    memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < SRV_N_CODINGS; i++)
        free(answer->coded[i].bytes);
    pthread_mutex_destroy(&answer->lock);
    free(answer->bytes);
    free(answer);
}

const struct srv_coded *srv_answer_coded(struct srv_answer *answer,
                                         enum srv_coding coding)
{
    struct srv_coded *coded = &answer->coded[coding];

    pthread_mutex_lock(&answer->lock);
    if (coded->bytes == NULL)
        coded->bytes =
            srv_encode(coding, answer->bytes, answer->length, &coded->length);
    if (coded->bytes == NULL)
        coded = NULL;
    pthread_mutex_unlock(&answer->lock);
    return coded;
}
