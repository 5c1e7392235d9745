/*
 * marks.c: marks to bytes and back.
 */
#include "marks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_SOLVERS = REMAT_KNAPSACK_HIRSCHBERG + 1,
    N_ESTIMATORS = REMAT_ESTIMATE_GIVEN + 1,
    HEX_DIGITS = 16
};

void proto_mark_name(uint32_t node, char *mark)
{
    mark[0] = (char)0xFF;
    for (int i = 1; i < PROTO_MARK_BYTES; i++)
        mark[i] = (char)(0x80 | (node >> 7 * (PROTO_MARK_BYTES - 1 - i) & 127));
    mark[PROTO_MARK_BYTES] = '\0';
}

uint32_t proto_mark_node(const char *mark)
{
    uint64_t node = 0;

    for (int i = 1; i < PROTO_MARK_BYTES; i++) {
        unsigned char byte = (unsigned char)mark[i];

        if (byte < 0x80)
            return REMAT_NONE;
        node = node << 7 | (byte & 127);
    }
    return node < REMAT_NONE ? (uint32_t)node : REMAT_NONE;
}

void proto_mark_budget(double budget, enum remat_knapsack solver,
                       enum remat_estimator estimator, char *mark)
{
    uint64_t bits;

    memcpy(&bits, &budget, sizeof(bits));
    snprintf(mark, PROTO_BUDGET_MARK_BYTES + 1,
             "\xFE"
             "b%016" PRIx64 "%c%c",
             bits, 'a' + (int)solver, 'a' + (int)estimator);
}

bool proto_mark_options(const char *mark, struct remat_options *options)
{
    int solver = mark[HEX_DIGITS + 2] - 'a';
    int estimator = mark[HEX_DIGITS + 3] - 'a';
    char digits[HEX_DIGITS + 1];
    uint64_t bits;
    double budget;

    memcpy(digits, mark + 2, HEX_DIGITS);
    digits[HEX_DIGITS] = '\0';
    bits = strtoull(digits, NULL, 16);
    memcpy(&budget, &bits, sizeof(budget));
    if (!(budget >= 0 && budget <= 1) || solver < 0 || solver >= N_SOLVERS ||
        estimator < 0 || estimator >= N_ESTIMATORS)
        return false;
    options->activation_memory_budget = budget;
    options->activation_memory_budget_solver = (enum remat_knapsack)solver;
    options->activation_memory_budget_runtime_estimator =
        (enum remat_estimator)estimator;
    return true;
}

size_t proto_mark_length(const char *at, size_t left)
{
    size_t n = 0;

    if ((unsigned char)at[0] == 0xFF)
        n = PROTO_MARK_BYTES;
    else if ((unsigned char)at[0] == 0xFE && left > 1 && at[1] == 'd')
        n = sizeof(PROTO_DIGEST_MARK) - 1;
    else if ((unsigned char)at[0] == 0xFE && left > 1 && at[1] == 'b')
        n = PROTO_BUDGET_MARK_BYTES;
    return n <= left ? n : 0;
}
