/*
 * text.c: the growing buffer behind every document that proto writes.
 */
#include "text.h"

#include "marks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BYTES = 4096,
    FORMAT_BYTES = 1024
};

void proto_text_init(struct proto_text *text, struct proto_budget *budget)
{
    *text = (struct proto_text){.budget = budget};
}

static void *allocate(struct proto_text *text, size_t n_bytes)
{
    if (text->budget == NULL)
        return malloc(n_bytes);
    return proto_budget_allocate(text->budget, n_bytes);
}

static void release(struct proto_text *text)
{
    if (text->budget == NULL)
        free(text->bytes);
    else
        proto_budget_release(text->budget, text->bytes, text->capacity);
}

void proto_text_release(struct proto_text *text)
{
    release(text);
    proto_text_init(text, text->budget);
}

/* Room for n more bytes and the closing NUL. */
static bool grow(struct proto_text *text, size_t n)
{
    size_t capacity = text->capacity == 0 ? FIRST_BYTES : text->capacity;
    char *bytes;

    if (text->failed)
        return false;
    while (capacity - text->length <= n && capacity <= SIZE_MAX / 4)
        capacity *= 2;
    bytes = capacity - text->length > n ? allocate(text, capacity) : NULL;
    if (bytes == NULL) {
        text->failed = true;
        return false;
    }
    if (text->length != 0)
        memcpy(bytes, text->bytes, text->length);
    release(text);
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

static inline bool reserve(struct proto_text *text, size_t n)
{
    return text->capacity - text->length > n || grow(text, n);
}

char *proto_text_take(struct proto_text *text, size_t *length)
{
    char *bytes;

    if (text->failed || !reserve(text, 0)) {
        proto_text_release(text);
        return NULL;
    }
    text->bytes[text->length] = '\0';
    bytes = text->bytes;
    if (length != NULL)
        *length = text->length;
    if (text->budget != NULL)
        text->budget->used_bytes -= text->capacity;
    proto_text_init(text, text->budget);
    return bytes;
}

void proto_text_add(struct proto_text *text, const char *bytes, size_t n)
{
    if (!reserve(text, n) || n == 0)
        return;
    memcpy(text->bytes + text->length, bytes, n);
    text->length += n;
}

void proto_text_puts(struct proto_text *text, const char *words)
{
    proto_text_add(text, words, strlen(words));
}

void proto_text_int(struct proto_text *text, int64_t value)
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char digits[20];
    size_t n = sizeof(digits);

    do {
        digits[--n] = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (value < 0)
        proto_text_add(text, "-", 1);
    proto_text_add(text, digits + n, sizeof(digits) - n);
}

void proto_text_format(struct proto_text *text, const char *format, ...)
{
    char line[FORMAT_BYTES];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (n < 0)
        text->failed = true;
    else
        proto_text_add(text, line,
                       n < FORMAT_BYTES ? (size_t)n : FORMAT_BYTES - 1);
}

size_t proto_text_character(const unsigned char *at, size_t left)
{
    static const unsigned char least[] = {0, 0, 0xC2, 0xE0, 0xF0};
    size_t n = at[0] < 0x80 ? 1 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;

    if (n == 1)
        return 1;
    if (at[0] < least[n] || at[0] > 0xF4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((at[i] & 0xC0) != 0x80)
            return 0;
    if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
        (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F))
        return 0;
    return n;
}

static void add_escape(struct proto_text *text, unsigned char c)
{
    static const char short_form[] = "btn?fr"; /* 8, 9, 10, -, 12, 13 */
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\', (char)c, '0', '0', 0, 0};

    if (c == '"' || c == '\\') {
        proto_text_add(text, escape, 2);
    } else if (c >= 8 && c <= 13 && c != 11) {
        escape[1] = short_form[c - 8];
        proto_text_add(text, escape, 2);
    } else {
        escape[1] = 'u';
        escape[4] = hex[c >> 4];
        escape[5] = hex[c & 15];
        proto_text_add(text, escape, 6);
    }
}

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static size_t count_plain(const char *bytes, size_t n)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i = 0;

    while (i < n && is_plain(at[i]))
        i++;
    return i;
}

/* One character that is not plain; returns its length. */
static size_t escape_one(struct proto_text *text, const char *at, size_t left)
{
    size_t length = proto_text_character((const unsigned char *)at, left);

    if (length == 1) {
        add_escape(text, (unsigned char)*at);
        return length;
    }
    if (length == 0 && text->keeps_marks)
        length = proto_mark_length(at, left);
    if (length != 0) {
        proto_text_add(text, at, length);
        return length;
    }
    proto_text_puts(text, "\xEF\xBF\xBD");
    return 1;
}

void proto_text_escape(struct proto_text *text, const char *bytes, size_t n)
{
    size_t i = count_plain(bytes, n);

    proto_text_add(text, bytes, i);
    while (i < n) {
        size_t n_plain;

        i += escape_one(text, bytes + i, n - i);
        n_plain = count_plain(bytes + i, n - i);
        proto_text_add(text, bytes + i, n_plain);
        i += n_plain;
    }
}

/* The usual case: nothing to escape. */
static void quote_plain(struct proto_text *text, const char *bytes, size_t n)
{
    char *out;

    if (!reserve(text, n + 2))
        return;
    out = text->bytes + text->length;
    out[0] = '"';
    memcpy(out + 1, bytes, n);
    out[n + 1] = '"';
    text->length += n + 2;
}

void proto_text_quote(struct proto_text *text, const char *bytes, size_t n)
{
    if (count_plain(bytes, n) == n) {
        quote_plain(text, bytes, n);
        return;
    }
    proto_text_add(text, "\"", 1);
    proto_text_escape(text, bytes, n);
    proto_text_add(text, "\"", 1);
}

/* C0, DEL, and C1 as two bytes of UTF-8. */
static bool is_control(const unsigned char *at, size_t length)
{
    return (length == 1 && (at[0] < 0x20 || at[0] == 0x7F)) ||
           (length == 2 && at[0] == 0xC2 && at[1] < 0xA0);
}

/* What turns the direction of the text behind it or breaks its line: U+061C,
 * U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. A terminal would show
 * another name, or the numbers of a row in another order. */
static bool turns_text(const unsigned char *at, size_t length)
{
    if (length == 2)
        return at[0] == 0xD8 && at[1] == 0x9C;
    if (length != 3 || at[0] != 0xE2)
        return false;
    return (at[1] == 0x80 && (at[2] == 0x8E || at[2] == 0x8F ||
                              (at[2] >= 0xA8 && at[2] <= 0xAE))) ||
           (at[1] == 0x81 && at[2] >= 0xA6 && at[2] <= 0xA9);
}

void proto_text_show(struct proto_text *text, const char *words)
{
    const unsigned char *at = (const unsigned char *)words;
    size_t n = strlen(words);
    size_t length;

    for (size_t i = 0; i < n; i += length == 0 ? 1 : length) {
        length = proto_text_character(at + i, n - i);
        if (length == 0)
            proto_text_puts(text, "\xEF\xBF\xBD");
        else if (is_control(at + i, length) || turns_text(at + i, length))
            proto_text_puts(text, "?");
        else
            proto_text_add(text, words + i, length);
    }
}

void proto_text_show_gathered(struct proto_text *text, struct proto_text *words)
{
    proto_text_add(words, "", 1);
    if (words->failed)
        text->failed = true;
    else
        proto_text_show(text, words->bytes);
    proto_text_release(words);
}

void proto_text_quote_words(struct proto_text *text, const char *words)
{
    proto_text_quote(text, words, strlen(words));
}
