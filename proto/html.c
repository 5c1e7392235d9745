/*
 * html.c: escaping, and amounts as people read them.
 */
#include "html.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Code point of the character of `n` bytes. */
static uint32_t code_of(const unsigned char *at, size_t n)
{
    static const unsigned char mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = at[0] & mask[n];

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (at[i] & 0x3F);
    return code;
}

/* Marks and overrides of direction, separators of lines, and the mark that
 * tells the order of bytes: invisible, and not harmless. */
static bool is_invisible(uint32_t code)
{
    return (code >= 0x200B && code <= 0x200F) ||
           (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF ||
           code == 0x061C;
}

static void add_code(struct proto_text *text, uint32_t code, const char *at,
                     size_t n)
{
    switch (code) {
    case '&':
        proto_text_puts(text, "&amp;");
        return;
    case '<':
        proto_text_puts(text, "&lt;");
        return;
    case '>':
        proto_text_puts(text, "&gt;");
        return;
    case '"':
        proto_text_puts(text, "&quot;");
        return;
    case '\'':
        proto_text_puts(text, "&#39;");
        return;
    case 0x7F:
        proto_text_puts(text, "\xE2\x90\xA1");
        return;
    default:
        break;
    }
    if (code < 0x20)
        proto_text_format(text, "&#x%X;", 0x2400 + (unsigned)code);
    else if ((code >= 0x80 && code < 0xA0) || (code & 0xFFFE) == 0xFFFE ||
             (code >= 0xFDD0 && code <= 0xFDEF))
        proto_text_puts(text, "\xEF\xBF\xBD");
    else if (is_invisible(code))
        proto_text_format(text, "&lt;U+%04X&gt;", (unsigned)code);
    else
        proto_text_add(text, at, n);
}

/* Up to `most` characters of `left` bytes; what is behind them. */
static const char *add_some(struct proto_text *text, const char *words,
                            size_t left, size_t most)
{
    for (size_t i = 0; i < most && left > 0; i++) {
        size_t n = proto_text_character((const unsigned char *)words, left);

        if (n == 0)
            proto_text_puts(text, "\xEF\xBF\xBD");
        else
            add_code(text, code_of((const unsigned char *)words, n), words, n);
        n += n == 0;
        words += n;
        left -= n;
    }
    return words;
}

void proto_html_words(struct proto_text *text, const char *words)
{
    add_some(text, words, strlen(words), SIZE_MAX);
}

void proto_html_part(struct proto_text *text, const char *words, size_t length)
{
    add_some(text, words, length, SIZE_MAX);
}

void proto_html_name(struct proto_text *text, const char *words)
{
    const char *rest;

    proto_text_puts(text, "<bdi>");
    rest = add_some(text, words, strlen(words), PROTO_HTML_SHOWN);
    if (rest[0] != '\0')
        proto_text_puts(text, "\xE2\x80\xA6");
    proto_text_puts(text, "</bdi>");
}

/* Faithful to the last byte, unlike what is shown. */
void proto_html_attribute(struct proto_text *text, const char *words)
{
    while (*words != '\0') {
        size_t n = strcspn(words, "&<>\"'\r");

        proto_text_add(text, words, n);
        words += n;
        if (*words == '\0')
            return;
        proto_text_format(text, "&#%d;", *words);
        words++;
    }
}

/* Bytes of the character here if it must not stand in a script, else 0. */
static size_t unsafe_length(const char *at)
{
    if (*at == '<' || *at == '>' || *at == '&')
        return 1;
    if (strncmp(at, "\xE2\x80\xA8", 3) == 0 ||
        strncmp(at, "\xE2\x80\xA9", 3) == 0)
        return 3;
    return 0;
}

void proto_html_quote(struct proto_text *text, const char *words)
{
    const char *from = words;

    proto_text_puts(text, "\"");
    for (; *words != '\0'; words++) {
        size_t n = unsafe_length(words);

        if (n == 0)
            continue;
        proto_text_escape(text, from, (size_t)(words - from));
        proto_text_format(text, "\\u%04x",
                          (unsigned)code_of((const unsigned char *)words, n));
        words += n - 1;
        from = words + 1;
    }
    proto_text_escape(text, from, strlen(from));
    proto_text_puts(text, "\"");
}

/* ---- amounts ----------------------------------------------------------- */

void proto_html_count(struct proto_text *text, int64_t count)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRId64, count);

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-')
            proto_text_puts(text, ",");
        proto_text_add(text, &digits[i], 1);
    }
}

static void add_scaled(struct proto_text *text, double amount, double step,
                       const char *const *units, size_t n_units)
{
    size_t unit = 0;

    while (amount >= step * 0.9995 && unit + 1 < n_units) {
        amount /= step;
        unit++;
    }
    proto_text_format(text,
                      unit == 0 || amount >= 99.95 ? "%.0f %s"
                      : amount >= 9.995            ? "%.1f %s"
                                                   : "%.2f %s",
                      amount, units[unit]);
}

void proto_html_size(struct proto_text *text, int64_t n_bytes)
{
    static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
                                        "TiB", "PiB", "EiB"};

    if (n_bytes < 0) {
        proto_text_puts(text, "\xE2\x88\x92");
        n_bytes = n_bytes == INT64_MIN ? INT64_MAX : -n_bytes;
    }
    add_scaled(text, (double)n_bytes, 1024, units,
               sizeof(units) / sizeof(*units));
}

void proto_html_flops(struct proto_text *text, int64_t flops)
{
    static const char *const units[] = {"FLOP",  "KFLOP", "MFLOP", "GFLOP",
                                        "TFLOP", "PFLOP", "EFLOP"};

    if (flops < 0) {
        proto_text_puts(text, "\xE2\x88\x92");
        flops = flops == INT64_MIN ? INT64_MAX : -flops;
    }
    add_scaled(text, (double)flops, 1000, units,
               sizeof(units) / sizeof(*units));
}
