/*
 * opnames.c: which operators PyTorch has, by name alone.
 */
#include "optable.h"

#include "base.h"

#include <string.h>

/* An operator, then its overloads, separated by spaces. A space sorts before
 * all that names are made of, so the order of the strings is that of the
 * operators.
 */
#define NAME(text) text,
static const char *const operators[] = {
#include "optable/operators-2.13.inc"
};
#undef NAME

static const char *const namespaces[] = {
    "aten.",
    "prims.",
    "c10d.",
    "c10d_functional.",
    "_c10d_functional.",
    "_c10d_functional_autograd.",
};

bool remat_operator_is_pytorchs(const char *target)
{
    for (size_t i = 0; i < REMAT_ARRAY_LEN(namespaces); i++)
        if (strncmp(target, namespaces[i], strlen(namespaces[i])) == 0)
            return true;
    return false;
}

/* The overloads of the operator that the first n bytes of `name` are. */
static const char *find_overloads(const char *name, size_t n)
{
    size_t low = 0;
    size_t high = REMAT_ARRAY_LEN(operators);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strncmp(operators[middle], name, n);

        if (order == 0 && operators[middle][n] == ' ')
            return operators[middle] + n + 1;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);

    for (;;) {
        size_t length = strcspn(words, " ");

        if (length == n && strncmp(words, word, n) == 0)
            return true;
        if (words[length] == '\0')
            return false;
        words += length + 1;
    }
}

bool remat_operator_exists(const char *target, const char **overloads)
{
    const char *dot = strrchr(target, '.');

    *overloads = NULL;
    if (dot == NULL)
        return false;
    *overloads = find_overloads(target, (size_t)(dot - target));
    return *overloads != NULL && has_word(*overloads, dot + 1);
}
