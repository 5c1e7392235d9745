/*
 * cpus.h: how many processors this process may use.
 */
#ifndef SRV_CPUS_H
#define SRV_CPUS_H

/* At least 1 and at most 256: the processors online, or fewer when the control
 * group (a container's --cpus) allows less time than that. */
unsigned srv_cpus(void);

#endif
