/*
 * optable.c: looks operators and dtypes up in the compiled-in table.
 *
 * The packet of a target (its name without the overload) carries classes, the
 * target itself carries what its schema says.
 */
#include "optable.h"

#include "base.h"

#include <stddef.h>
#include <string.h>

#define R REMAT_RECOMPUTABLE
#define F REMAT_FUSIBLE
#define V REMAT_VIEW
#define C REMAT_COMPUTE_INTENSIVE
#define X REMAT_RANDOM
#define P REMAT_POINTWISE
#define N REMAT_FLOPS
#define M REMAT_MUTABLE
#define S REMAT_SEEDED
#define I REMAT_IMPURE
#define A REMAT_IS_VIEW_SCHEMA
#define Z REMAT_NO_RETURNS

struct entry {
    const char *name;
    uint32_t value;
};

#define NOTHING(...)
#define ENTRY(name, value) {name, value},
#define TABLE              "optable/pytorch-2.13.inc"

#define RELEASE  NOTHING
#define DTYPE    ENTRY
#define PACKET   NOTHING
#define OVERLOAD NOTHING
static const struct entry dtypes[] = {
#include TABLE
};
#undef DTYPE
#undef PACKET
#define DTYPE  NOTHING
#define PACKET ENTRY
static const struct entry packets[] = {
#include TABLE
};
#undef PACKET
#undef OVERLOAD
#define PACKET   NOTHING
#define OVERLOAD ENTRY
static const struct entry overloads[] = {
#include TABLE
};
#undef RELEASE
#undef OVERLOAD
#define RELEASE(version) version
#define OVERLOAD         NOTHING
static const char release[] =
#include TABLE
    ;

static const struct {
    const char *target;
    enum remat_special special;
} specials[] = {
    {"getitem", REMAT_GETITEM},
    {"aten.copy_.default", REMAT_COPY},
    {"aten.lift_fresh.default", REMAT_LIFT_FRESH},
    {"aten.lift_fresh_copy.default", REMAT_LIFT_FRESH},
    {"aten.view.default", REMAT_VIEW_OR_RESHAPE},
    {"aten.reshape.default", REMAT_VIEW_OR_RESHAPE},
    {"higher_order.with_effects", REMAT_WITH_EFFECTS},
    {"higher_order.auto_functionalized", REMAT_AUTO_FUNCTIONAL},
    {"higher_order.triton_kernel_wrapper_functional", REMAT_TRITON_FUNCTIONAL},
    {"_c10d_functional.wait_tensor.default", REMAT_WAIT_TENSOR},
    {"aten._assert_scalar.default", REMAT_ASSERT_SCALAR},
};

static const struct {
    const char *packet;
    enum remat_counted counted;
} counts[] = {
    {"aten.mm", REMAT_COUNT_MM},
    {"aten._scaled_mm", REMAT_COUNT_MM},
    {"aten.addmm", REMAT_COUNT_ADDMM},
    {"aten.bmm", REMAT_COUNT_BMM},
    {"aten.baddbmm", REMAT_COUNT_BADDBMM},
    {"aten.convolution", REMAT_COUNT_CONVOLUTION},
    {"aten._convolution", REMAT_COUNT_CONVOLUTION},
    {"aten.cudnn_convolution", REMAT_COUNT_CONVOLUTION},
    {"aten._slow_conv2d_forward", REMAT_COUNT_CONVOLUTION},
    {"aten.convolution_overrideable", REMAT_COUNT_CONVOLUTION},
    {"aten.convolution_backward", REMAT_COUNT_CONVOLUTION_BACKWARD},
    {"aten._scaled_dot_product_efficient_attention", REMAT_COUNT_ATTENTION},
    {"aten._scaled_dot_product_flash_attention", REMAT_COUNT_ATTENTION},
    {"aten._scaled_dot_product_cudnn_attention", REMAT_COUNT_ATTENTION},
};

/* Compares a NUL-terminated name with the first n bytes of another. */
static int compare(const char *name, const char *key, size_t n)
{
    int order = strncmp(name, key, n);

    return order != 0 ? order : (name[n] == '\0' ? 0 : 1);
}

static const struct entry *find(const struct entry *table, size_t n_entries,
                                const char *key, size_t n)
{
    size_t low = 0;
    size_t high = n_entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare(table[middle].name, key, n);

        if (order == 0)
            return &table[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int64_t remat_dtype_bytes(const char *dtype)
{
    const struct entry *entry =
        find(dtypes, REMAT_ARRAY_LEN(dtypes), dtype, strlen(dtype));

    return entry == NULL ? 0 : (int64_t)entry->value;
}

const char *remat_table_version(void)
{
    return release;
}

enum remat_special remat_special_lookup(const char *target)
{
    for (size_t i = 0; i < REMAT_ARRAY_LEN(specials); i++)
        if (strcmp(specials[i].target, target) == 0)
            return specials[i].special;
    return REMAT_ORDINARY;
}

/* The last dot when the target has at least two: where its overload begins. */
static const char *overload_dot(const char *target)
{
    const char *first = strchr(target, '.');
    const char *last = strrchr(target, '.');

    return first == last ? NULL : last;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text);
    size_t n_suffix = strlen(suffix);

    return n >= n_suffix && strcmp(text + n - n_suffix, suffix) == 0;
}

static bool is_word(const char *text)
{
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
                             "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                             "0123456789_")] == '\0';
}

/* Overloads named out, out_* and *_out write to an argument; the table leaves
 * them out because every operator has some. */
static bool is_out_overload(const char *overload)
{
    if (!is_word(overload))
        return false;
    return strcmp(overload, "out") == 0 || strncmp(overload, "out_", 4) == 0 ||
           has_suffix(overload, "_out");
}

static size_t packet_length(const char *target)
{
    const char *dot = overload_dot(target);
    size_t n = strlen(target);

    if (dot == NULL || find(packets, REMAT_ARRAY_LEN(packets), target, n))
        return n;
    return (size_t)(dot - target);
}

static enum remat_counted counted_of(const char *target, size_t n_packet)
{
    for (size_t i = 0; i < REMAT_ARRAY_LEN(counts); i++)
        if (compare(counts[i].packet, target, n_packet) == 0)
            return counts[i].counted;
    return REMAT_COUNT_NOTHING;
}

bool remat_operator_is_listed(const char *target)
{
    return remat_special_lookup(target) != REMAT_ORDINARY ||
           find(packets, REMAT_ARRAY_LEN(packets), target,
                packet_length(target)) != NULL ||
           find(overloads, REMAT_ARRAY_LEN(overloads), target,
                strlen(target)) != NULL;
}

struct remat_operator remat_operator_lookup(const char *target)
{
    const char *dot = overload_dot(target);
    size_t n = packet_length(target);
    const struct entry *packet =
        find(packets, REMAT_ARRAY_LEN(packets), target, n);
    const struct entry *overload =
        find(overloads, REMAT_ARRAY_LEN(overloads), target, strlen(target));
    struct remat_operator op = {.special = remat_special_lookup(target)};

    if (packet != NULL)
        op.traits |= packet->value;
    if (overload != NULL)
        op.traits |= overload->value;
    if (dot != NULL && is_out_overload(dot + 1))
        op.traits |= REMAT_MUTABLE;
    op.counted = counted_of(target, n);
    op.is_cat = n == strlen("aten.cat") && strncmp(target, "aten.cat", n) == 0;
    op.is_collective = strncmp(target, "_c10d_functional.", 17) == 0;
    return op;
}
