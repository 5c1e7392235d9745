/*
 * number.h: the one parser of numbers on command lines, in the environment and
 * in headers. Header only, so that the programs share it without a library.
 */
#ifndef SRV_NUMBER_H
#define SRV_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* The binary shift of a size suffix, -1 when it is none. */
static inline int srv_suffix_shift(char suffix)
{
    switch (suffix) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    default:
        return -1;
    }
}

/*
 * Decimal digits, optionally one of K, M, G (times 2^10, 2^20, 2^30) when
 * `suffixes` allows it, and nothing else: no sign, no blank. False when the
 * text is no such number or does not fit; *value is then unchanged. O(length).
 */
static inline bool srv_number_parse(const char *text, bool suffixes,
                                    uint64_t *value)
{
    uint64_t sum = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(sum, (uint64_t)10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*at - '0'), &sum))
            return false;
    }
    if (at == text)
        return false;
    if (*at != '\0') {
        const int shift = suffixes ? srv_suffix_shift(*at) : -1;

        if (shift < 0 || at[1] != '\0' || sum > UINT64_MAX >> shift)
            return false;
        sum <<= shift;
    }
    *value = sum;
    return true;
}

/* Whether the text is a port number. */
static inline bool srv_is_port(const char *text)
{
    uint64_t port = 0;

    return srv_number_parse(text, false, &port) && port <= UINT16_MAX;
}

#endif
