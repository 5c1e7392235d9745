/*
 * names.c: the crit-bit tree of names.h.
 *
 * A fork tests one bit of the key: byte `at`, where `others` has every bit set
 * but that one. A child is a fork, or a leaf when LEAF is set: then the rest is
 * a number. There is one fork less than there are keys.
 */
#include "names.h"

#include "base.h"

#include <string.h>

#define LEAF 0x80000000u

struct remat_fork {
    uint32_t child[2];
    uint32_t at;
    uint8_t others;
};

static unsigned direction(const struct remat_fork *fork, const char *key,
                          size_t n)
{
    unsigned byte = fork->at < n ? (unsigned char)key[fork->at] : 0;

    return (1 + (fork->others | byte)) >> 8;
}

/* The one leaf that could hold the key. */
static uint32_t nearest(const struct remat_names *names, const char *key,
                        size_t n)
{
    uint32_t place = names->root;

    while ((place & LEAF) == 0) {
        const struct remat_fork *fork = &names->forks[place];

        place = fork->child[direction(fork, key, n)];
    }
    return place & ~LEAF;
}

uint32_t remat_names_find(const struct remat_names *names, const char *key)
{
    uint32_t number;

    if (names->n == 0)
        return REMAT_NONE;
    number = nearest(names, key, strlen(key));
    return strcmp(names->keys[number], key) == 0 ? number : REMAT_NONE;
}

static bool make_room(struct remat_arena *arena, struct remat_names *names)
{
    uint32_t capacity = names->capacity == 0 ? 64 : names->capacity * 2;
    const char **keys;
    struct remat_fork *forks;

    if (names->n < names->capacity)
        return true;
    if (names->capacity >= LEAF / 2)
        return false;
    keys = REMAT_NEW_ARRAY(arena, const char *, capacity);
    forks = REMAT_NEW_ARRAY(arena, struct remat_fork, capacity);
    if (keys == NULL || forks == NULL)
        return false;
    if (names->n > 0) {
        memcpy(keys, names->keys, names->n * sizeof(*keys));
        memcpy(forks, names->forks, names->n * sizeof(*forks));
    }
    names->keys = keys;
    names->forks = forks;
    names->capacity = capacity;
    return true;
}

/* The first bit in which two different keys differ, as a fork without
 * children. */
static struct remat_fork first_difference(const char *a, const char *b)
{
    struct remat_fork fork = {{0, 0}, 0, 0};
    unsigned bits;

    while (a[fork.at] == b[fork.at])
        fork.at++;
    bits = (unsigned)((unsigned char)a[fork.at] ^ (unsigned char)b[fork.at]);
    while ((bits & (bits - 1)) != 0)
        bits &= bits - 1;
    fork.others = (uint8_t)(bits ^ 0xff);
    return fork;
}

/* Whether `fork` is tested before `new` on every path: higher up in the tree.
 */
static bool is_above(const struct remat_fork *fork,
                     const struct remat_fork *new)
{
    return fork->at < new->at ||
           (fork->at == new->at && fork->others < new->others);
}

bool remat_names_add(struct remat_arena *arena, struct remat_names *names,
                     const char *key)
{
    size_t n = strlen(key);
    uint32_t *place = &names->root;
    struct remat_fork new;
    unsigned side;

    if (!make_room(arena, names))
        return false;
    names->keys[names->n] = key;
    if (names->n == 0) {
        names->root = LEAF;
        names->n = 1;
        return true;
    }
    new = first_difference(names->keys[nearest(names, key, n)], key);
    while ((*place & LEAF) == 0) {
        struct remat_fork *fork = &names->forks[*place];

        if (!is_above(fork, &new))
            break;
        place = &fork->child[direction(fork, key, n)];
    }
    side = direction(&new, key, n);
    new.child[side] = names->n | LEAF;
    new.child[1 - side] = *place;
    names->forks[names->n - 1] = new;
    *place = names->n - 1;
    names->n++;
    return true;
}
