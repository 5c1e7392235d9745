/*
 * optable.h: what is known about operators from their PyTorch release alone.
 */
#ifndef REMAT_OPTABLE_H
#define REMAT_OPTABLE_H

#include "remat.h"

/* Operators that a rule names. */
enum remat_special {
    REMAT_ORDINARY,
    REMAT_GETITEM,
    REMAT_COPY,              /* aten.copy_.default */
    REMAT_LIFT_FRESH,        /* aten.lift_fresh[_copy].default */
    REMAT_VIEW_OR_RESHAPE,   /* aten.view.default, aten.reshape.default */
    REMAT_WITH_EFFECTS,      /* higher_order.with_effects */
    REMAT_AUTO_FUNCTIONAL,   /* higher_order.auto_functionalized */
    REMAT_TRITON_FUNCTIONAL, /* higher_order.triton_kernel_wrapper_functional */
    REMAT_WAIT_TENSOR,       /* _c10d_functional.wait_tensor.default */
    REMAT_ASSERT_SCALAR      /* aten._assert_scalar.default */
};

/* How the floating-point operations of a packet are counted (flops.c). */
enum remat_counted {
    REMAT_COUNT_NOTHING,
    REMAT_COUNT_MM,
    REMAT_COUNT_ADDMM,
    REMAT_COUNT_BMM,
    REMAT_COUNT_BADDBMM,
    REMAT_COUNT_CONVOLUTION,
    REMAT_COUNT_CONVOLUTION_BACKWARD,
    REMAT_COUNT_ATTENTION
};

struct remat_operator {
    uint32_t traits; /* bits of enum remat_trait */
    enum remat_special special;
    enum remat_counted counted;
    bool is_cat;        /* packet aten.cat */
    bool is_collective; /* target in the namespace _c10d_functional */
};

/* Facts about the target of a call_function. An unknown target has none. O(log
 * of the table). */
struct remat_operator remat_operator_lookup(const char *target);
/* Whether a target lies in a namespace that is PyTorch's own, of which all
 * operators are known. O(1). */
bool remat_operator_is_pytorchs(const char *target);
/* Whether such a target is an operator of this PyTorch release. When only its
 * overload is not, *overloads lists those there are, separated by spaces; else
 * it is NULL. O(log of the table). */
bool remat_operator_exists(const char *target, const char **overloads);
/* Whether the table says anything about a target, or a rule names it. O(log of
 * the table). */
bool remat_operator_is_listed(const char *target);
/* The special operator a target names, whatever the op of its node. */
enum remat_special remat_special_lookup(const char *target);

#endif
