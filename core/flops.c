/*
 * flops.c: one small function for each kind of operator that is counted.
 *
 * A product of sizes sticks at 2^63 - 1 instead of overflowing.
 */
#include "flops.h"

#include "base.h"
#include "job.h"

/* ---- shapes ------------------------------------------------------------ */

struct shape {
    const int64_t *dims;
    uint32_t n;
};

static int64_t times(int64_t a, int64_t b)
{
    int64_t product;

    return remat_mul_i64(a, b, &product) ? product : INT64_MAX;
}

static struct shape shape_of(const struct remat_value *value)
{
    if (value == NULL || value->kind != REMAT_VALUE_TENSOR)
        return (struct shape){NULL, 0};
    return (struct shape){value->dims, value->n_dims};
}

/* The shape of positional argument i; no dimensions when it is no tensor. */
static struct shape arg_shape(const struct remat_graph *g, remat_node v,
                              uint32_t i)
{
    remat_node arg = remat_arg_node(g, v, i);

    return shape_of(arg == REMAT_NONE ? NULL : &remat_spec(g, arg)->value);
}

static bool arg_is_true(const struct remat_arg *args, uint32_t n, uint32_t i)
{
    return i < n && args[i].kind == REMAT_ARG_BOOL && args[i].as.boolean;
}

/* ---- operators --------------------------------------------------------- */

/* (m, k) times (k, n). */
static int64_t matmul(struct shape a, struct shape b)
{
    if (a.n != 2 || b.n != 2)
        return 0;
    return times(times(times(a.dims[0], b.dims[1]), 2), a.dims[1]);
}

/* (batch, m, k) times (batch, k, n). */
static int64_t batched_matmul(struct shape a, struct shape b)
{
    if (a.n != 3 || b.n != 3)
        return 0;
    return times(times(times(times(a.dims[0], a.dims[1]), b.dims[2]), 2),
                 a.dims[2]);
}

/* Query, key, value: (batch, heads, length, width). */
static int64_t attention(struct shape q, struct shape k, struct shape v)
{
    int64_t rows;

    if (q.n != 4 || k.n != 4 || v.n != 4)
        return 0;
    rows = times(times(times(2, q.dims[0]), q.dims[1]), q.dims[2]);
    return remat_add_saturating(times(times(rows, q.dims[3]), k.dims[2]),
                                times(times(rows, k.dims[2]), v.dims[3]));
}

/* x is (batch, channels, spatial...), w has two channel dimensions and the
 * kernel; the spatial dimensions that count are those of `out`, or of x when
 * transposed. `swap` exchanges the first two dimensions of x and out. */
static int64_t convolution(struct shape x, struct shape w, struct shape out,
                           bool transposed, bool swap)
{
    struct shape spatial = transposed ? x : out;
    int64_t flops;

    if (x.n < 2 || w.n < 2 || spatial.n < 2)
        return 0;
    flops = times(times(times(w.dims[0], w.dims[1]), 2), x.dims[swap ? 1 : 0]);
    for (uint32_t i = 2; i < w.n; i++)
        flops = times(flops, w.dims[i]);
    for (uint32_t i = 2; i < spatial.n; i++)
        flops = times(flops, spatial.dims[i]);
    return flops;
}

/* Gradients of input and weight, those that output_mask asks for. The weight's
 * is a convolution of the input with the incoming gradient in the place of the
 * weight (of the gradient with the input when transposed), batch and channels
 * exchanged. */
static int64_t convolution_backward(const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(g, v);
    const struct remat_value *value = &spec->value;
    struct shape gradient = arg_shape(g, v, 0);
    struct shape x = arg_shape(g, v, 1);
    struct shape w = arg_shape(g, v, 2);
    bool transposed = arg_is_true(spec->args, spec->n_args, 7);
    const struct remat_arg *mask = spec->n_args > 10 ? &spec->args[10] : NULL;
    int64_t flops = 0;

    if (mask == NULL || mask->kind != REMAT_ARG_LIST ||
        value->kind != REMAT_VALUE_TUPLE || value->n_members < 2)
        return 0;
    if (arg_is_true(mask->as.items, mask->n_items, 0))
        flops = convolution(gradient, w, shape_of(&value->members[0]),
                            !transposed, false);
    if (arg_is_true(mask->as.items, mask->n_items, 1))
        flops = remat_add_saturating(
            flops, transposed
                       ? convolution(gradient, x, shape_of(&value->members[1]),
                                     false, true)
                       : convolution(x, gradient, shape_of(&value->members[1]),
                                     false, true));
    return flops;
}

int64_t remat_flops(const struct remat_graph *g, remat_node v)
{
    const struct remat_node_spec *spec = remat_spec(g, v);

    if (g->op[v] == NULL)
        return 0;
    switch (g->op[v]->counted) {
    case REMAT_COUNT_NOTHING:
        return 0;
    case REMAT_COUNT_MM:
        return matmul(arg_shape(g, v, 0), arg_shape(g, v, 1));
    case REMAT_COUNT_ADDMM:
        return matmul(arg_shape(g, v, 1), arg_shape(g, v, 2));
    case REMAT_COUNT_BMM:
        return batched_matmul(arg_shape(g, v, 0), arg_shape(g, v, 1));
    case REMAT_COUNT_BADDBMM:
        return batched_matmul(arg_shape(g, v, 1), arg_shape(g, v, 2));
    case REMAT_COUNT_CONVOLUTION:
        return convolution(arg_shape(g, v, 0), arg_shape(g, v, 1),
                           shape_of(&spec->value),
                           arg_is_true(spec->args, spec->n_args, 6), false);
    case REMAT_COUNT_CONVOLUTION_BACKWARD:
        return convolution_backward(g, v);
    case REMAT_COUNT_ATTENTION:
        return attention(arg_shape(g, v, 0), arg_shape(g, v, 1),
                         arg_shape(g, v, 2));
    }
    return 0;
}

int64_t remat_node_flops(const struct remat_job *job, remat_node node)
{
    assert(job->graph.sealed && node < job->graph.n);
    return remat_flops(&job->graph, node);
}
