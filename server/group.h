/*
 * group.h: what a group is made of. For the files of groups.h alone; with the
 * lock of struct srv_groups, except where a worker decides.
 */
#ifndef SRV_GROUP_H
#define SRV_GROUP_H

#include "groups.h"
#include "job.h"
#include "table.h"

enum srv_group_state {
    SRV_GROUP_GATHERING,
    SRV_GROUP_DECIDING,  /* a worker reads members and documents */
    SRV_GROUP_DISAGREED, /* `problem` says how; another document starts anew */
    SRV_GROUP_OVER       /* `record` and `answers` say what was decided */
};

struct srv_group {
    UT_hash_handle hh;
    struct srv_key id;
    size_t n_users; /* jobs, and the table */
    bool is_listed;
    bool is_lost;
    char owner[SRV_OWNER_SIZE];
    char key[SRV_PARAM_SIZE];
    enum srv_group_state state;
    uint32_t world_size; /* 0: nobody has come */
    uint32_t n_here;
    struct proto_rank *members; /* by rank; document NULL: not here */
    struct proto_rank_document **documents; /* owned */
    size_t n_documents;
    size_t charged_bytes;
    struct srv_job *waiting;
    struct proto_problem problem;
    struct srv_answer *record;
    struct srv_answer **answers; /* by number of the record's document */
    const char **names;          /* NUL-terminated texts in `name_bytes` */
    char *name_bytes;
    uint32_t n_answers;
    uint64_t touched_ns;
};

/* The documents and members are not needed any more. */
void srv_group_release_documents(struct srv_groups *groups,
                                 struct srv_group *g);
/* The job's group, held by it from then on; false without memory. Takes the
 * lock. */
bool srv_group_hold(struct srv_groups *groups, struct srv_job *job);

/* ---- group_settle.c: what was decided before; without the lock ---- */
/* Whether the group was decided: the job has its answer or problem then. */
bool srv_group_settle(struct srv_job *job, const struct proto_rank *rank,
                      const char *document);
/* Keeps what a decision consists of. */
void srv_group_keep(const struct srv_job *job, const char *document,
                    struct srv_answer *answer);
void srv_group_keep_record(const struct srv_job *job,
                           struct srv_answer *record);
/* The two ways in which a rank contradicts its group. */
void srv_group_refuse_other(struct srv_job *job, const struct proto_rank *rank);
void srv_group_refuse_world(struct srv_job *job, const struct proto_rank *rank,
                            uint32_t world_size);

/* ---- group_decide.c ---- */
/* On the worker that brought the last rank, without the lock: everybody's
 * result. */
void srv_group_decide(struct srv_groups *groups, struct srv_job *job,
                      const struct proto_env *env);

#endif
