/*
 * process.h: what the kernel says of this process.
 */
#ifndef SRV_PROCESS_H
#define SRV_PROCESS_H

#include <stdint.h>

/* What could not be found out is 0. */
struct srv_process {
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t n_descriptors;
    uint64_t most_descriptors;
    uint64_t n_threads;
    double started_s; /* since 1970 */
    double cpu_s;     /* user and system */
};

/* Reads /proc; O(descriptors). Any thread. */
void srv_process_read(struct srv_process *process);

#endif
