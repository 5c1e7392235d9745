/*
 * facets.c: the list of what makes a node what it is.
 *
 *   facets      words and numbers of a node
 *   values      types of what it computes, member by member
 *   arguments   literals, and where references stand
 */
#include "facets.h"

#include "tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NESTING = 64
};

/* ---- facets ------------------------------------------------------------ */

static const char *op_word(const struct remat_graph *g, remat_node v)
{
    static const char *const ops[] = {[REMAT_PLACEHOLDER] = "placeholder",
                                      [REMAT_GET_ATTR] = "get_attr",
                                      [REMAT_CALL_FUNCTION] = "call_function",
                                      [REMAT_OUTPUT] = "output"};
    static const char *const roles[] = {
        [REMAT_NO_ROLE] = "placeholder",
        [REMAT_PRIMAL] = "primal placeholder",
        [REMAT_FORWARD_SEED] = "forward seed placeholder",
        [REMAT_BACKWARD_SEED] = "backward seed placeholder",
        [REMAT_TANGENT] = "tangent placeholder"};
    enum remat_op op = remat_spec(g, v)->op;

    return op == REMAT_PLACEHOLDER ? roles[g->role[v]] : ops[op];
}

static const char *policy_word(enum remat_policy policy)
{
    return policy == REMAT_UNTAGGED ? "none" : remat_policy_text(policy);
}

static const char *placement_word(enum remat_placement placement)
{
#define X(name, text) [name] = text,
    static const char *const words[REMAT_N_PLACEMENTS] = {
        "none", REMAT_PLACEMENT_MAP(X)};
#undef X

    return words[placement];
}

static struct remat_facet word(const char *what, const char *text)
{
    return (struct remat_facet){what, text == NULL ? "none" : text, 0, false};
}

static struct remat_facet number(const char *what, int64_t value)
{
    return (struct remat_facet){what, NULL, value, false};
}

static struct remat_facet real(const char *what, double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (struct remat_facet){what, NULL, bits, true};
}

uint32_t remat_facets(const struct remat_graph *g, remat_node v,
                      bool with_modules,
                      struct remat_facet facets[REMAT_MOST_FACETS])
{
    const struct remat_node_spec *s = remat_spec(g, v);
    bool is_output = s->op == REMAT_OUTPUT;
    bool has_target = s->op == REMAT_CALL_FUNCTION || s->op == REMAT_GET_ATTR;
    uint32_t n = 0;

    facets[n++] = word("kind of node", op_word(g, v));
    facets[n++] = word("operator", has_target ? s->target : NULL);
    facets[n++] = number("num_fwd_outputs", is_output ? g->fwd_outputs.n : 0);
    facets[n++] = number("number of arguments", s->n_args);
    facets[n++] = number("number of keywords", s->n_kwargs);
    facets[n++] = word("tag recompute", policy_word(s->policy));
    facets[n++] = number("presence of ac_graph_id", s->has_ac_graph_id);
    facets[n++] =
        number("ac_graph_id", s->has_ac_graph_id ? s->ac_graph_id : 0);
    facets[n++] = word("partitioner_tag", placement_word(s->placement));
    facets[n++] = number("static lifetime", g->is_static[v]);
    facets[n++] = number("has_backward_hook", s->has_backward_hook);
    facets[n++] = number("no_vc_check", s->no_vc_check);
    facets[n++] = number("opaque", s->opaque);
    facets[n++] = number("traits (bits)", s->traits_added);
    facets[n++] = number("denied traits (bits)", s->traits_denied);
    facets[n++] = number("presence of alias_of", s->alias_of != REMAT_NONE);
    facets[n++] = number("presence of binds", s->binds != NULL);
    facets[n++] = number("presence of memory_budget", s->has_memory_budget);
    facets[n++] =
        real("memory_budget", s->has_memory_budget ? s->memory_budget : 0.0);
    facets[n++] = number("number of mutated_args", s->n_mutated_args);
    facets[n++] = word("module", with_modules ? s->module : NULL);
    return n;
}

void remat_facet_words(const struct remat_facet *facet,
                       char words[REMAT_FACET_BYTES])
{
    double value;

    if (facet->word != NULL)
        snprintf(words, REMAT_FACET_BYTES, "%s", facet->word);
    else if (facet->is_real) {
        memcpy(&value, &facet->number, sizeof(value));
        snprintf(words, REMAT_FACET_BYTES, "%.17g", value);
    } else
        snprintf(words, REMAT_FACET_BYTES, "%" PRId64, facet->number);
}

/* ---- values ------------------------------------------------------------ */

/* Visits a value and all members, outer before inner. */
struct value_walk {
    struct {
        const struct remat_value *next;
        uint32_t n_left;
    } level[NESTING];
    unsigned depth;
};

static void begin_value(struct value_walk *walk,
                        const struct remat_value *value)
{
    walk->depth = 1;
    walk->level[0].next = value;
    walk->level[0].n_left = 1;
}

static const struct remat_value *next_value(struct value_walk *walk)
{
    const struct remat_value *at;

    while (walk->depth > 0 && walk->level[walk->depth - 1].n_left == 0)
        walk->depth--;
    if (walk->depth == 0)
        return NULL;
    walk->level[walk->depth - 1].n_left--;
    at = walk->level[walk->depth - 1].next++;
    if (at->n_members > 0 && walk->depth < NESTING) {
        walk->level[walk->depth].next = at->members;
        walk->level[walk->depth].n_left = at->n_members;
        walk->depth++;
    }
    return at;
}

static const char *value_word(enum remat_value_kind kind)
{
    static const char *const words[] = {
        [REMAT_VALUE_ABSENT] = "nothing",
        [REMAT_VALUE_NULL] = "null",
        [REMAT_VALUE_TENSOR] = "a tensor",
        [REMAT_VALUE_SYM_INT] = "an int symbol",
        [REMAT_VALUE_SYM_FLOAT] = "a float symbol",
        [REMAT_VALUE_SYM_BOOL] = "a bool symbol",
        [REMAT_VALUE_TUPLE] = "a tuple",
        [REMAT_VALUE_DICT] = "a dict",
        [REMAT_VALUE_CONST] = "a constant",
        [REMAT_VALUE_OPAQUE] = "an opaque object"};

    return words[kind];
}

enum {
    N_VALUE_FACETS = 6
};

static void value_facets(const struct remat_value *value,
                         struct remat_facet facets[N_VALUE_FACETS])
{
    facets[0] = word("value", value_word(value->kind));
    facets[1] = word(value->kind == REMAT_VALUE_TENSOR ? "dtype" : "type",
                     value->type_name);
    /* a tensor given by its number of elements alone has hints of none */
    facets[2] = number("number of dimensions", value->n_dims);
    facets[3] = number("no_storage", value->no_storage);
    facets[4] = number("number of members", value->n_members);
    facets[5] = number("number of size symbols", value->n_symbols);
}

static void print_facets(struct remat_print *print,
                         const struct remat_facet *facets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (facets[i].word != NULL)
            remat_print_text(print, facets[i].word);
        else
            remat_print_number(print, (uint64_t)facets[i].number);
    }
}

static void print_value(struct remat_print *print,
                        const struct remat_value *value)
{
    struct remat_facet facets[N_VALUE_FACETS];
    struct value_walk walk;

    begin_value(&walk, value);
    while ((value = next_value(&walk)) != NULL) {
        value_facets(value, facets);
        print_facets(print, facets, N_VALUE_FACETS);
    }
}

/* ---- arguments --------------------------------------------------------- */

/* A literal as two words; references only say that they are one. */
static struct remat_facet token_facet(const struct remat_tokens *tokens,
                                      const struct remat_arg *token)
{
    switch (token->kind) {
    case REMAT_ARG_NULL:
        return word("null", "null");
    case REMAT_ARG_BOOL:
        return word("bool", token->as.boolean ? "true" : "false");
    case REMAT_ARG_INT:
        return number("int", token->as.integer);
    case REMAT_ARG_FLOAT:
        return real("float", token->as.real);
    case REMAT_ARG_STRING:
        return word("string", remat_tokens_is_group(tokens, token)
                                  ? "a process group"
                                  : token->as.text);
    case REMAT_ARG_NODE:
        return word("reference", "a node");
    case REMAT_ARG_LIST:
        return number("list of", token->n_items);
    case REMAT_ARG_DICT:
        return number("dict of", token->n_items);
    case REMAT_ARG_SLICE:
        return number("slice of", token->n_items);
    case REMAT_ARG_OTHER:
        break;
    }
    return word("literal", "a typed literal");
}

static bool print_arguments(struct remat_arena *arena,
                            const struct remat_graph *g, remat_node v,
                            struct remat_print *print)
{
    struct remat_tokens tokens;
    const struct remat_arg *token;

    remat_tokens_init(&tokens, arena, g, v);
    while ((token = remat_tokens_next(&tokens)) != NULL) {
        struct remat_facet facet = token_facet(&tokens, token);

        remat_print_number(print, (uint64_t)token->kind);
        if (token->key != NULL)
            remat_print_text(print, token->key);
        print_facets(print, &facet, 1);
    }
    return !tokens.failed;
}

bool remat_facets_print(struct remat_arena *arena, const struct remat_graph *g,
                        remat_node v, bool with_modules,
                        struct remat_print *print)
{
    const struct remat_node_spec *spec = remat_spec(g, v);
    struct remat_facet facets[REMAT_MOST_FACETS] = {{NULL, NULL, 0, false}};
    uint32_t n = remat_facets(g, v, with_modules, facets);

    print_facets(print, facets, n);
    for (uint32_t i = 0; i < spec->n_mutated_args; i++)
        remat_print_text(print, spec->mutated_args[i]);
    print_value(print, &spec->value);
    return print_arguments(arena, g, v, print);
}

/* ---- differences ------------------------------------------------------- */

static bool same_facet(const struct remat_facet *a, const struct remat_facet *b)
{
    if (a->word != NULL && b->word != NULL)
        return strcmp(a->word, b->word) == 0;
    return a->word == NULL && b->word == NULL && a->number == b->number;
}

/* `place` is "" or ends a clause. */
static bool tell(const char *place, const struct remat_facet *a,
                 const struct remat_facet *b, char *words, size_t n_bytes)
{
    char left[REMAT_FACET_BYTES];
    char right[REMAT_FACET_BYTES];

    const char *colon = place[0] == '\0' ? "" : ": ";

    remat_facet_words(a, left);
    remat_facet_words(b, right);
    if (strcmp(a->what, b->what) == 0)
        snprintf(words, n_bytes, "%s%s%s %s against %s", place, colon, a->what,
                 left, right);
    else
        snprintf(words, n_bytes, "%s%s%s %s against %s %s", place, colon,
                 a->what, left, b->what, right);
    return true;
}

static bool values_differ(const struct remat_value *a,
                          const struct remat_value *b, char *words,
                          size_t n_bytes)
{
    struct remat_facet left[N_VALUE_FACETS];
    struct remat_facet right[N_VALUE_FACETS];
    struct value_walk walk_a;
    struct value_walk walk_b;
    bool is_member = false;

    begin_value(&walk_a, a);
    begin_value(&walk_b, b);
    while ((a = next_value(&walk_a)) != NULL &&
           (b = next_value(&walk_b)) != NULL) {
        value_facets(a, left);
        value_facets(b, right);
        for (int i = 0; i < N_VALUE_FACETS; i++)
            if (!same_facet(&left[i], &right[i]))
                return tell(is_member ? "in a member of the value" : "",
                            &left[i], &right[i], words, n_bytes);
        is_member = true;
    }
    return false;
}

static bool same_key(const struct remat_arg *a, const struct remat_arg *b)
{
    return (a->key == NULL) == (b->key == NULL) &&
           (a->key == NULL || strcmp(a->key, b->key) == 0);
}

static bool arguments_differ(struct remat_arena *arena,
                             struct remat_facet_side left,
                             struct remat_facet_side right, char *words,
                             size_t n_bytes)
{
    struct remat_tokens a;
    struct remat_tokens b;
    char place[REMAT_FACET_BYTES];
    const struct remat_arg *x;
    const struct remat_arg *y;

    remat_tokens_init(&a, arena, left.g, left.node);
    remat_tokens_init(&b, arena, right.g, right.node);
    while ((x = remat_tokens_next(&a)) != NULL &&
           (y = remat_tokens_next(&b)) != NULL) {
        struct remat_facet facet_x = token_facet(&a, x);
        struct remat_facet facet_y = token_facet(&b, y);

        remat_tokens_where(&a, place, sizeof(place));
        if (!same_key(x, y)) {
            snprintf(words, n_bytes, "%s stands for `%.40s` on the other side",
                     place, y->key == NULL ? "" : y->key);
            return true;
        }
        if (x->kind != y->kind || !same_facet(&facet_x, &facet_y))
            return tell(place, &facet_x, &facet_y, words, n_bytes);
    }
    return false;
}

static bool mutated_differ(const struct remat_node_spec *a,
                           const struct remat_node_spec *b, char *words,
                           size_t n_bytes)
{
    for (uint32_t i = 0; i < a->n_mutated_args && i < b->n_mutated_args; i++) {
        struct remat_facet left = word("mutated argument", a->mutated_args[i]);
        struct remat_facet right = word("mutated argument", b->mutated_args[i]);

        if (!same_facet(&left, &right))
            return tell("", &left, &right, words, n_bytes);
    }
    return false;
}

bool remat_facets_differ(struct remat_arena *arena, struct remat_facet_side a,
                         struct remat_facet_side b, bool with_modules,
                         char *words, size_t n_bytes)
{
    const struct remat_node_spec *spec_a = remat_spec(a.g, a.node);
    const struct remat_node_spec *spec_b = remat_spec(b.g, b.node);
    struct remat_facet left[REMAT_MOST_FACETS];
    struct remat_facet right[REMAT_MOST_FACETS];
    uint32_t n = remat_facets(a.g, a.node, with_modules, left);

    remat_facets(b.g, b.node, with_modules, right);
    for (uint32_t i = 0; i < n; i++)
        if (!same_facet(&left[i], &right[i]))
            return tell("", &left[i], &right[i], words, n_bytes);
    return mutated_differ(spec_a, spec_b, words, n_bytes) ||
           values_differ(&spec_a->value, &spec_b->value, words, n_bytes) ||
           arguments_differ(arena, a, b, words, n_bytes);
}
