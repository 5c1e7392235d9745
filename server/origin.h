/*
 * origin.h: which machine a request names, and which page it comes from.
 */
#ifndef SRV_ORIGIN_H
#define SRV_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

/* The host of a Host header or an origin's authority, without port, checked:
 * false when it is no host[:port]. `host` may point into brackets. */
bool srv_split_authority(const char *authority, const char **host,
                         size_t *n_host);
/* Whether that is a name or address of the loopback interface. */
bool srv_host_is_loopback(const char *host, size_t n_host);
/* Whether an Origin is that of the page that Host itself would serve. */
bool srv_origin_matches(const char *origin, const char *host);

#endif
