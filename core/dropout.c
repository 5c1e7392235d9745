/*
 * dropout.c: attention without dropout.
 */
#include "dropout.h"

#include "base.h"

#include <string.h>

bool remat_draws_nothing(const struct remat_graph *g, remat_node v)
{
    static const struct {
        const char *target;
        uint32_t place; /* of dropout_p among the positional arguments */
    } attentions[] = {
        {"aten._scaled_dot_product_flash_attention.default", 3},
        {"aten._scaled_dot_product_flash_attention_for_cpu.default", 3},
        {"aten._scaled_dot_product_fused_attention_overrideable.default", 4},
        {"aten._scaled_dot_product_efficient_attention.default", 5},
        {"aten._scaled_dot_product_cudnn_attention.default", 5},
    };
    const struct remat_node_spec *spec = remat_spec(g, v);
    const struct remat_arg *chance = remat_kwarg(g, v, "dropout_p");
    size_t i = 0;

    while (i < REMAT_ARRAY_LEN(attentions) &&
           strcmp(attentions[i].target, spec->target) != 0)
        i++;
    if (i == REMAT_ARRAY_LEN(attentions) ||
        remat_has_trait(g, v, REMAT_NO_RECOMPUTE))
        return false;
    if (chance == NULL && attentions[i].place < spec->n_args)
        chance = &spec->args[attentions[i].place];
    if (chance == NULL)
        return true; /* the default is 0 */
    return (chance->kind == REMAT_ARG_FLOAT && chance->as.real == 0.0) ||
           (chance->kind == REMAT_ARG_INT && chance->as.integer == 0);
}
