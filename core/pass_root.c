/*
 * pass_root.c: the square root behind the stage size "auto", without libm.
 *
 * Digit by digit on integers, so that it is rounded correctly everywhere.
 */
#include "pass_work.h"

double remat_root_times_2_15(uint64_t n)
{
    uint64_t root = 0;
    uint64_t rest = 0;
    int n_shifts = 0;
    double result;

    if (n == 0)
        return 0;
    while (n >> 62 == 0) {
        n <<= 2;
        n_shifts++;
    }
    /* root = floor(sqrt(n) * 2^22) has 54 bits after 54 pairs of digits; rest
     * is what the square leaves, at most twice the root. */
    for (int i = 0; i < 54; i++) {
        rest = rest << 2 | n >> 62;
        n <<= 2;
        root <<= 1;
        if (rest > root << 1) {
            rest -= (root << 1) + 1;
            root++;
        }
    }
    /* One bit too many: the root of an integer is never halfway between two
     * doubles, so that bit alone says which way to round. */
    result = (double)((root >> 1) + (root & 1)) / 64;
    while (n_shifts-- > 0)
        result /= 2;
    return result;
}
