/*
 * faulty_vfs.c: wraps the default VFS; only what writes is replaced.
 */
#include "faulty_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct file {
    sqlite3_file base;
    sqlite3_file *real; /* behind it, in the same memory */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned n_seen;
static unsigned fails_at;
static int fails_for_ever;
static int has_failed;
static enum faulty_kind fails_how;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs faulty;
static sqlite3_io_methods methods;

void faulty_arm(unsigned k, int for_ever, enum faulty_kind kind)
{
    pthread_mutex_lock(&lock);
    n_seen = 0;
    fails_at = k;
    fails_for_ever = for_ever;
    fails_how = kind;
    has_failed = 0;
    pthread_mutex_unlock(&lock);
}

unsigned faulty_count(void)
{
    pthread_mutex_lock(&lock);
    const unsigned n = n_seen;
    pthread_mutex_unlock(&lock);
    return n;
}

int faulty_has_failed(void)
{
    pthread_mutex_lock(&lock);
    const int failed = has_failed;
    pthread_mutex_unlock(&lock);
    return failed;
}

/* SQLITE_OK, or what this operation fails with. */
static int next(int broken)
{
    int code = SQLITE_OK;

    pthread_mutex_lock(&lock);
    n_seen++;
    if (fails_at != 0 &&
        (n_seen == fails_at || (fails_for_ever && n_seen > fails_at))) {
        code = fails_how == FAULTY_DISK_FULL ? SQLITE_FULL : broken;
        has_failed = 1;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct file *)(void *)file)->real;
}

static int file_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *out, int n, sqlite3_int64 at)
{
    return real_of(file)->pMethods->xRead(real_of(file), out, n, at);
}

static int file_write(sqlite3_file *file, const void *bytes, int n,
                      sqlite3_int64 at)
{
    const int code = next(SQLITE_IOERR_WRITE);

    if (code == SQLITE_OK)
        return real_of(file)->pMethods->xWrite(real_of(file), bytes, n, at);
    if (n > 1) /* a disk that fails may have taken a part */
        (void)real_of(file)->pMethods->xWrite(real_of(file), bytes, n / 2, at);
    return code;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    const int code = next(SQLITE_IOERR_TRUNCATE);

    if (code != SQLITE_OK)
        return code;
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int file_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return next(SQLITE_IOERR_FSYNC);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_reserved(sqlite3_file *file, int *reserved)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), reserved);
}

static int file_control(sqlite3_file *file, int what, void *argument)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), what, argument);
}

static int file_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_traits(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend,
                        void volatile **out)
{
    return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend,
                                            out);
}

static int file_shm_lock(sqlite3_file *file, int offset, int n, int flags)
{
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int file_shm_unmap(sqlite3_file *file, int remove)
{
    return real_of(file)->pMethods->xShmUnmap(real_of(file), remove);
}

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out,
                    int flags, int *out_flags)
{
    struct file *file = (struct file *)(void *)out;

    (void)vfs;
    file->real = (sqlite3_file *)(void *)(file + 1);
    file->base.pMethods = NULL;
    const int code =
        real_vfs->xOpen(real_vfs, name, file->real, flags, out_flags);
    if (code == SQLITE_OK)
        file->base.pMethods = &methods;
    return code;
}

void faulty_register(void)
{
    if (real_vfs != NULL)
        return;
    real_vfs = sqlite3_vfs_find(NULL);
    faulty = *real_vfs;
    faulty.zName = FAULTY_VFS;
    faulty.pNext = NULL;
    faulty.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    faulty.xOpen = vfs_open;
    methods = (sqlite3_io_methods){
        .iVersion = 2,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_reserved,
        .xFileControl = file_control,
        .xSectorSize = file_sector,
        .xDeviceCharacteristics = file_traits,
        .xShmMap = file_shm_map,
        .xShmLock = file_shm_lock,
        .xShmBarrier = file_shm_barrier,
        .xShmUnmap = file_shm_unmap,
    };
    sqlite3_vfs_register(&faulty, 0);
}
