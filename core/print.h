/*
 * print.h: fingerprints of structures, 128 bits in two lanes. Private to core.
 *
 * Numbers go in as numbers and text byte by byte, so a print is the same on
 * every machine. It tells apart what differs by accident; it is no protection
 * against somebody who looks for two things with one print, who could only
 * deceive his own job.
 */
#ifndef REMAT_PRINT_H
#define REMAT_PRINT_H

#include <stddef.h>
#include <stdint.h>

struct remat_print {
    uint64_t a;
    uint64_t b;
};

static inline uint64_t remat_mix(uint64_t h, uint64_t x)
{
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    return h ^ (h >> 29);
}

static inline void remat_print_number(struct remat_print *print, uint64_t x)
{
    print->a = remat_mix(print->a, x);
    print->b = remat_mix(print->b ^ UINT64_C(0x5851f42d4c957f2d), ~x);
}

/* NULL differs from every text. */
static inline void remat_print_text(struct remat_print *print, const char *text)
{
    uint64_t eight = 0;
    uint64_t n = 0;

    for (; text != NULL && text[n] != '\0'; n++) {
        eight = (eight << 8) | (unsigned char)text[n];
        if (n % 8 == 7)
            remat_print_number(print, eight);
    }
    remat_print_number(print, eight);
    remat_print_number(print, text == NULL ? UINT64_MAX : n);
}

#endif
