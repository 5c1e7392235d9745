/*
 * compose.h: the document of a what-if, from the document of the job it is
 * about and what was posted.
 */
#ifndef SRV_COMPOSE_H
#define SRV_COMPOSE_H

struct srv_job;

/* Of a ticket that has read its record with the body: its own body, which was
 * posted, becomes the whole document; or its problem says why not. On a thread
 * that may take its time; O(bytes of both). */
void srv_compose(struct srv_job *ticket);

#endif
