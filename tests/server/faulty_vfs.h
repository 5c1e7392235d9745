/*
 * faulty_vfs.h: SQLite's file system with a disk that fails on demand: the k-th
 * operation that changes a file, once or from then on. While it stands before
 * the real one, nothing is synced: a crash of the machine is not what it tests.
 */
#ifndef FAULTY_VFS_H
#define FAULTY_VFS_H

#define FAULTY_VFS "faulty"

enum faulty_kind {
    FAULTY_DISK_FULL, /* SQLITE_FULL, as the system's ENOSPC becomes */
    FAULTY_BROKEN     /* SQLITE_IOERR */
};

/* Registers it, once. */
void faulty_register(void);
/* From now on the k-th operation fails (k from 1); 0: none. Counting starts
 * anew. */
void faulty_arm(unsigned k, int for_ever, enum faulty_kind kind);
/* Operations since. */
unsigned faulty_count(void);
/* Whether one has failed. */
int faulty_has_failed(void);

#endif
