/*
 * suite.h: the frame of a Check program. SUITE(name, first, second, ...) makes
 * a main that runs those test functions; declare each with START_TEST.
 */
#ifndef SUITE_H
#define SUITE_H

#include <check.h>
#include <stdlib.h>

#define SUITE(name, ...)                                            \
    int main(void)                                                  \
    {                                                               \
        const TTest *const tests[] = {__VA_ARGS__};                 \
        Suite *suite = suite_create(name);                          \
        TCase *tcase = tcase_create(name);                          \
        SRunner *runner;                                            \
        int n_failed;                                               \
                                                                    \
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) \
            tcase_add_test(tcase, tests[i]);                        \
        tcase_set_timeout(tcase, 60);                               \
        suite_add_tcase(suite, tcase);                              \
        runner = srunner_create(suite);                             \
        srunner_run_all(runner, CK_NORMAL);                         \
        n_failed = srunner_ntests_failed(runner);                   \
        srunner_free(runner);                                       \
        return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;         \
    }

#endif
