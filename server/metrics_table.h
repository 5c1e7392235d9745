/*
 * metrics_table.h: the fixed lists behind labels and buckets.
 */
#ifndef SRV_METRICS_TABLE_H
#define SRV_METRICS_TABLE_H

#include "metrics.h"

/* An upper bound, inclusive, and how the label le says it, in seconds. */
struct srv_bound {
    uint64_t ns;
    const char *le;
};
struct srv_bounds {
    const struct srv_bound *at; /* ascending */
    size_t n;
};
extern const struct srv_bounds srv_duration_bounds; /* of requests */
extern const struct srv_bounds srv_fine_bounds;     /* of phases */

extern const char *const srv_method_names[SRV_N_METHODS];
/* The status of a counter: 0 for closed, -1 for other. */
int srv_metrics_status(size_t i);
/* The word of a counter, NULL for one that is not used. The first few are how
 * jobs end, the others codes of problems. */
#define SRV_N_JOB_ENDS 5
const char *srv_metrics_outcome(size_t i);

#endif
