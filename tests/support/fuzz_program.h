/*
 * fuzz_program.h: graphs from arbitrary bytes, for the fuzz targets.
 *
 * A program is a head of FUZZ_HEAD bytes, then outputs, then records of
 * FUZZ_RECORD bytes, a node each (tests/fuzz/seeds.py writes the same format):
 *
 *   head    0, 1  options, a bit each     2  forward outputs
 *           3     static inputs, a bit each for the first eight
 *           4     how many outputs follow, a byte each: node, or 255 for null
 *   record  0  op     1  target    2  kind of value   3, 4  size: b3 << b4 % 64
 *           5  policy, placement   6  traits given    7  traits denied, region
 *           8  number of inputs and how they are passed
 *           9 to 11  inputs        12  more flags
 *
 * Every byte string is a program. In a tame one every reference is made valid;
 * in a wild one the graph may be wrong in any way core has to notice.
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include "remat.h"

#include <stddef.h>
#include <stdint.h>

enum {
    FUZZ_HEAD = 5,
    FUZZ_RECORD = 13,
    FUZZ_NODES = 250
};

struct fuzz_program {
    const uint8_t *bytes;
    size_t n_bytes;
    bool wild;
    uint32_t most_nodes;
    int64_t most_bytes; /* of a value */
};

/* Options that the head asks for. */
void fuzz_options(const struct fuzz_program *program,
                  struct remat_options *options);
/* Builds and seals. Whatever status core gives. */
enum remat_status fuzz_build(const struct fuzz_program *program,
                             struct remat_job *job, struct remat_error *err);

#endif
