/*
 * The square root behind stages of size "auto": rounded correctly without libm.
 */
#include "pass.h"
#include "suite.h"

static const struct {
    uint64_t n;
    double root; /* times 2^15, worked out with exact integers */
} known[] = {
    {UINT64_C(1), 0x1.0000000000000p+15},
    {UINT64_C(2), 0x1.6a09e667f3bcdp+15},
    {UINT64_C(3), 0x1.bb67ae8584caap+15},
    {UINT64_C(5), 0x1.1e3779b97f4a8p+16},
    {UINT64_C(7), 0x1.52a7fa9d2f8eap+16},
    {UINT64_C(10), 0x1.94c583ada5b53p+16},
    {UINT64_C(255), 0x1.feffbfdfebf1fp+18},
    {UINT64_C(1073741824), 0x1.0000000000000p+30},
    {UINT64_C(1073741825), 0x1.0000000200000p+30},
    {UINT64_C(3221225472), 0x1.bb67ae8584caap+30},
    {UINT64_C(9007199254740991), 0x1.6a09e667f3bccp+41},
    {UINT64_C(4611686018427386880), 0x1.fffffffffffffp+45},
    {UINT64_C(4611686018427387904), 0x1.0000000000000p+46},
    {UINT64_C(9223372036854774784), 0x1.6a09e667f3bccp+46},
    {UINT64_C(9223372036854775808), 0x1.6a09e667f3bcdp+46},
    {UINT64_C(535707), 0x1.6df5c51a59b53p+24},
    {UINT64_C(7480918169), 0x1.51dc4d1c3fe4cp+31},
    {UINT64_C(1099268346740), 0x1.fff17f9ee13fdp+34},
    {UINT64_C(14597086196309), 0x1.d2622a9e31ba2p+36},
    {UINT64_C(1412794706651707), 0x1.1ec46cbaef0dap+40},
    {UINT64_C(26790533304881400), 0x1.3830f76b9260fp+42},
    {UINT64_C(219491994028696992), 0x1.becbd0ed17362p+43},
    {UINT64_C(470273911652870528), 0x1.46ff928c605d7p+44},
    {UINT64_C(4599339987076239360), 0x1.ff506f4c81eb1p+45},
};

START_TEST(roots_are_rounded_correctly)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        ck_assert_msg(remat_root_times_2_15(known[i].n) == known[i].root,
                      "root of %llu: %a instead of %a",
                      (unsigned long long)known[i].n,
                      remat_root_times_2_15(known[i].n), known[i].root);
}
END_TEST

START_TEST(roots_of_squares_are_exact)
{
    ck_assert(remat_root_times_2_15(0) == 0);
    for (uint64_t i = 1; i < UINT64_C(1) << 32; i = i * 3 + 1)
        ck_assert(remat_root_times_2_15(i * i) == (double)i * 32768);
}
END_TEST

/* Between neighbours the root may not fall; it is strictly monotonous where
 * the argument has few bits. */
START_TEST(roots_grow)
{
    double before = 0;

    for (uint64_t n = 1; n < 100000; n++) {
        double root = remat_root_times_2_15(n);

        ck_assert(root > before);
        before = root;
    }
}
END_TEST

SUITE("pass_root", roots_are_rounded_correctly, roots_of_squares_are_exact,
      roots_grow)
