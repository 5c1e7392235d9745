/*
 * canon.c: RFC 8785: members by UTF-16 code units, least escapes, shortest
 * numbers.
 *
 * Shortest digits: the fewest decimal digits that read back as the same double,
 * and of those the nearest (ECMAScript, Number::toString). printf rounds
 * correctly, so the first precision that survives the way back is the answer;
 * up to 15 digits all survive for normal numbers, which saves most tries.
 */
#include "canon.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIGITS = 17,
    INSERTION_SORT_MOST = 24
};

struct member {
    const char *key;
    json_t *value;
};

/* ---- numbers ---- */

/* Digits of |real| without point, trailing zeros cut, and the exponent of the
 * first one. */
static size_t shortest_digits(double real, char digits[MOST_DIGITS + 1],
                              int *exponent)
{
    char text[40];
    int precision = real < DBL_MIN ? 1 : 15;
    size_t n = 0;
    char *e;

    for (; precision < MOST_DIGITS; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, real);
        if (strtod(text, NULL) == real)
            break;
    }
    snprintf(text, sizeof(text), "%.*e", precision - 1, real);
    e = strchr(text, 'e');
    *exponent = (int)strtol(e + 1, NULL, 10);
    for (const char *c = text; c != e; c++)
        if (*c >= '0' && *c <= '9')
            digits[n++] = *c;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return n;
}

/* The layout of Number::toString for n digits with the point behind digit
 * `point`. */
static void add_digits(struct proto_text *text, const char *digits, int n,
                       int point)
{
    static const char zeros[] = "0000000000000000000000";

    if (n <= point && point <= 21) {
        proto_text_add(text, digits, (size_t)n);
        proto_text_add(text, zeros, (size_t)(point - n));
    } else if (point > 0 && point <= 21) {
        proto_text_add(text, digits, (size_t)point);
        proto_text_puts(text, ".");
        proto_text_puts(text, digits + point);
    } else if (point > -6 && point <= 0) {
        proto_text_puts(text, "0.");
        proto_text_add(text, zeros, (size_t)-point);
        proto_text_puts(text, digits);
    } else {
        proto_text_add(text, digits, 1);
        if (n > 1) {
            proto_text_puts(text, ".");
            proto_text_puts(text, digits + 1);
        }
        proto_text_format(text, "e%+d", point - 1);
    }
}

void proto_canon_add_real(struct proto_text *text, double real)
{
    const double bound = 9223372036854775808.0; /* 2^63 */
    char digits[MOST_DIGITS + 1];
    int exponent;
    size_t n;

    if (real >= -bound && real < bound && real == floor(real)) {
        proto_text_int(text, (int64_t)real);
        return;
    }
    if (real < 0)
        proto_text_puts(text, "-");
    n = shortest_digits(fabs(real), digits, &exponent);
    add_digits(text, digits, (int)n, exponent + 1);
}

/* ---- objects ---- */

/* Bytes order alike, but for characters beyond U+FFFF: their surrogates sort
 * before U+E000 to U+FFFF. */
int proto_canon_compare(const char *a, const char *b)
{
    const unsigned char *x = (const unsigned char *)a;
    const unsigned char *y = (const unsigned char *)b;

    while (*x == *y && *x != '\0') {
        x++;
        y++;
    }
    if (*x >= 0xF0 && (*y == 0xEE || *y == 0xEF))
        return -1;
    if (*y >= 0xF0 && (*x == 0xEE || *x == 0xEF))
        return 1;
    return *x < *y ? -1 : *x > *y;
}

static int compare_members(const void *a, const void *b)
{
    return proto_canon_compare(((const struct member *)a)->key,
                               ((const struct member *)b)->key);
}

/* Objects of this format are small: most sorts end here. */
static void sort_members(struct member *members, size_t n)
{
    if (n > INSERTION_SORT_MOST) {
        qsort(members, n, sizeof(*members), compare_members);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct member moved = members[i];
        size_t j = i;

        for (; j > 0 && proto_canon_compare(moved.key, members[j - 1].key) < 0;
             j--)
            members[j] = members[j - 1];
        members[j] = moved;
    }
}

static struct proto_place enter(const struct proto_canon *canon,
                                struct proto_place place, const char *key,
                                size_t position)
{
    if (place.kind == 0)
        return place;
    return canon->enter(canon->context, place, key, position);
}

static bool add_members(struct proto_canon *canon, struct member *members,
                        size_t n, struct proto_place place)
{
    struct proto_text *text = canon->text;

    proto_text_puts(text, "{");
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            proto_text_puts(text, ",");
        proto_text_quote_words(text, members[i].key);
        proto_text_puts(text, ":");
        if (!proto_canon_add(canon, members[i].value,
                             enter(canon, place, members[i].key, i)))
            return false;
    }
    proto_text_puts(text, "}");
    return true;
}

static bool add_object(struct proto_canon *canon, json_t *object,
                       struct proto_place place)
{
    struct member few[INSERTION_SORT_MOST];
    struct member *members = few;
    size_t size = json_object_size(object) * sizeof(*members);
    size_t n = 0;
    bool many = json_object_size(object) > INSERTION_SORT_MOST;
    const char *key;
    json_t *value;
    bool done;

    if (many)
        members = proto_budget_allocate(canon->text->budget, size);
    if (members == NULL)
        return false;
    json_object_foreach (object, key, value) {
        if (place.kind == 0 || !canon->skip(canon->context, place, key))
            members[n++] = (struct member){key, value};
    }
    sort_members(members, n);
    done = add_members(canon, members, n, place);
    if (many)
        proto_budget_release(canon->text->budget, members, size);
    return done;
}

static bool add_list(struct proto_canon *canon, json_t *list,
                     struct proto_place place)
{
    struct proto_text *text = canon->text;
    json_t *item;
    size_t i;

    proto_text_puts(text, "[");
    json_array_foreach (list, i, item) {
        if (i > 0)
            proto_text_puts(text, ",");
        if (!proto_canon_add(canon, item, enter(canon, place, NULL, i)))
            return false;
    }
    proto_text_puts(text, "]");
    return true;
}

static void add_string(struct proto_canon *canon, json_t *string,
                       struct proto_place place)
{
    size_t begin = canon->text->length;

    proto_text_quote(canon->text, json_string_value(string),
                     json_string_length(string));
    if (place.kind != 0 && canon->string != NULL)
        canon->string(canon->context, place, begin);
}

bool proto_canon_add(struct proto_canon *canon, json_t *json,
                     struct proto_place place)
{
    struct proto_text *text = canon->text;

    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return add_object(canon, json, place) && !text->failed &&
               (canon->flush == NULL || canon->flush(canon->context, text));
    case JSON_ARRAY:
        return add_list(canon, json, place);
    case JSON_STRING:
        add_string(canon, json, place);
        return true;
    case JSON_INTEGER:
        proto_text_int(text, json_integer_value(json));
        return true;
    case JSON_REAL:
        proto_canon_add_real(text, json_real_value(json));
        return true;
    case JSON_TRUE:
        proto_text_puts(text, "true");
        return true;
    case JSON_FALSE:
        proto_text_puts(text, "false");
        return true;
    case JSON_NULL:
        break;
    }
    proto_text_puts(text, "null");
    return true;
}
