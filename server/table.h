/*
 * table.h: the hash tables of uthash, as all of the server uses them.
 */
#ifndef SRV_TABLE_H
#define SRV_TABLE_H

/* One byte at a time: the default falls through the cases of a switch, which
 * clang warns of wherever a table is used. */
#define HASH_FUNCTION HASH_OAT
/* Without memory a table is left as it is, and the element out of it: each has
 * a member that says so. */
#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->is_lost = true)
#include <uthash.h>

#endif
