/*
 * pass_modules.c: module paths against a pattern such as `blocks.*`.
 *
 * Both are components joined by dots. A pattern of k components is matched with
 * the first k of a path, one by one, where `*` stands for any characters within
 * a component. These k are the region; what stands behind them are descendants.
 */
#include "pass_modules.h"

#include "error.h"
#include "format.h"

enum {
    LONGEST_PATTERN = 1024
};

/* What the exporter calls the model itself. */
static const char root[] = "L['self']";

static const char *without_root(const char *path)
{
    if (strncmp(path, root, sizeof(root) - 1) != 0)
        return path;
    if (path[sizeof(root) - 1] == '.')
        return path + sizeof(root);
    return path[sizeof(root) - 1] == '\0' ? path + sizeof(root) - 1 : path;
}

static size_t component_length(const char *text)
{
    return strcspn(text, ".");
}

enum remat_status remat_modules_init(struct remat_pass_work *w,
                                     struct remat_modules *modules)
{
    const char *pattern = w->pass->modules;

    *modules = (struct remat_modules){0};
    if (pattern == NULL)
        return REMAT_OK;
    if (strlen(pattern) > LONGEST_PATTERN)
        return remat_error_set(w->err, REMAT_E_OPTION, REMAT_NONE,
                               "modules: longer than %d bytes",
                               LONGEST_PATTERN);
    pattern = without_root(pattern);
    modules->pattern = pattern;
    for (;;) {
        size_t n = component_length(pattern);

        if (n == 0)
            return remat_error_set(
                w->err, REMAT_E_OPTION, REMAT_NONE,
                "modules: \"%.80s\" has an empty component, must be components "
                "of a module path joined by dots, with * for any characters "
                "of one, such as \"blocks.*\"",
                w->pass->modules);
        modules->n_components++;
        if (pattern[n] == '\0')
            return REMAT_OK;
        pattern += n + 1;
    }
}

struct text {
    const char *at;
    size_t n;
};

/* Whether a component matches; *n_steps counts comparisons. Going back only to
 * the last star is enough: an earlier one could not match more. */
static bool matches(struct text pattern, struct text name, uint64_t *n_steps)
{
    size_t star = SIZE_MAX;
    size_t behind_star = 0; /* where in the name its rest begins */
    size_t i = 0;
    size_t j = 0;

    for (; j < name.n; ++*n_steps) {
        if (i < pattern.n && pattern.at[i] == '*') {
            star = i++;
            behind_star = j;
        } else if (i < pattern.n && pattern.at[i] == name.at[j]) {
            i++;
            j++;
        } else if (star != SIZE_MAX) {
            i = star + 1;
            j = ++behind_star;
        } else {
            return false;
        }
    }
    while (i < pattern.n && pattern.at[i] == '*')
        i++;
    return i == pattern.n;
}

/* How many characters of the path the pattern covers; 0: no match. */
static size_t match_path(const struct remat_modules *modules, const char *path,
                         uint64_t *n_steps)
{
    const char *pattern = modules->pattern;
    size_t covered = 0;

    for (uint32_t i = 0;; i++) {
        struct text part = {pattern, component_length(pattern)};
        struct text name = {path + covered, component_length(path + covered)};

        if (name.n == 0 || !matches(part, name, n_steps))
            return 0;
        covered += name.n;
        if (i + 1 == modules->n_components)
            return covered;
        if (path[covered] == '\0')
            return 0;
        covered++;
        pattern += part.n + 1;
    }
}

static enum remat_status region_of(struct remat_pass_work *w,
                                   struct remat_modules *modules,
                                   const char *module, uint32_t *region)
{
    const char *path = without_root(module);
    uint64_t n_steps = 1;
    size_t n = match_path(modules, path, &n_steps);
    char *key;

    *region = REMAT_NONE;
    if (n > 0) {
        key = REMAT_NEW_ARRAY(w->scratch, char, n + 1);
        if (key == NULL)
            return remat_pass_no_memory(w);
        memcpy(key, path, n);
        *region = remat_names_find(&modules->regions, key);
        if (*region == REMAT_NONE) {
            *region = modules->regions.n;
            if (!remat_names_add(w->scratch, &modules->regions, key))
                return remat_pass_no_memory(w);
        }
    }
    return remat_job_spend(w->job, n_steps, "passes", w->err);
}

/* Room for the region of one more path. */
static bool make_room(struct remat_pass_work *w, struct remat_modules *modules)
{
    uint32_t capacity = modules->paths.capacity;
    uint32_t *region;

    if (capacity == modules->region_capacity)
        return true;
    region = REMAT_NEW_ARRAY(w->scratch, uint32_t, capacity);
    if (region == NULL)
        return false;
    if (modules->region_capacity > 0)
        memcpy(region, modules->region,
               modules->region_capacity * sizeof(*region));
    modules->region = region;
    modules->region_capacity = capacity;
    return true;
}

enum remat_status remat_modules_find(struct remat_pass_work *w,
                                     struct remat_modules *modules,
                                     const char *module, uint32_t *region)
{
    uint32_t number = remat_names_find(&modules->paths, module);
    enum remat_status status;

    if (number != REMAT_NONE) {
        *region = modules->region[number];
        return REMAT_OK;
    }
    if (!remat_names_add(w->scratch, &modules->paths, module) ||
        !make_room(w, modules))
        return remat_pass_no_memory(w);
    number = modules->paths.n - 1;
    status = region_of(w, modules, module, &modules->region[number]);
    *region = modules->region[number];
    return status;
}

enum remat_status
remat_modules_note_unmatched(struct remat_pass_work *w,
                             const struct remat_modules *modules)
{
    const char *message =
        modules->paths.n == 0
            ? remat_format(&w->job->arena,
                           "modules: no forward operator call has a module")
            : remat_format(&w->job->arena,
                           "modules: `%s` matches no module, one of the "
                           "graph's is `%s`",
                           w->pass->modules, modules->paths.keys[0]);

    return remat_pass_note(w, "pass-matched-nothing", REMAT_WARNING, REMAT_NONE,
                           message);
}
