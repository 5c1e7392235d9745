/*
 * locate.c: walks the text again, keeping for every open list its index and for
 * every open object its current key.
 */
#include "locate.h"

#include "path.h"

#include <stdbool.h>
#include <string.h>

enum {
    MOST_FRAMES = 65
};

struct frame {
    bool is_object;
    bool is_value; /* an object's key has been read */
    size_t index;
    size_t key_start; /* with its quotes */
    size_t key_length;
};

struct scanner {
    const char *text;
    size_t length;
    size_t at;
    size_t n_frames;
    struct frame frames[MOST_FRAMES];
};

static size_t string_end(const struct scanner *s)
{
    size_t i = s->at + 1;

    while (i < s->length && s->text[i] != '"')
        i += s->text[i] == '\\' ? 2 : 1;
    return i < s->length ? i + 1 : s->length;
}

/* Moves past one token, keeping the frames. */
static void step(struct scanner *s)
{
    struct frame *top = s->n_frames > 0 ? &s->frames[s->n_frames - 1] : NULL;
    char c = s->text[s->at];

    if (c == '"') {
        size_t end = string_end(s);

        if (top != NULL && top->is_object && !top->is_value) {
            top->key_start = s->at;
            top->key_length = end - s->at;
        }
        s->at = end;
        return;
    }
    if ((c == '[' || c == '{') && s->n_frames < MOST_FRAMES)
        s->frames[s->n_frames++] = (struct frame){.is_object = c == '{'};
    else if ((c == ']' || c == '}') && s->n_frames > 0)
        s->n_frames--;
    else if (c == ':' && top != NULL)
        top->is_value = true;
    else if (c == ',' && top != NULL) {
        top->is_value = false;
        top->index++;
    }
    s->at++;
}

/* Whether the token at `at` is a place of its own: a string or a scalar. */
static bool is_place(const struct scanner *s)
{
    return strchr(" \t\r\n[]{}:,", s->text[s->at]) == NULL;
}

/* Writes the frames as a pointer below `what`. */
static void write_pointer(struct proto_json *json, const struct scanner *s,
                          const char *what, char *pointer, size_t size)
{
    struct proto_path path[MOST_FRAMES + 2];
    size_t n = 1;

    path[0] = (struct proto_path){0};
    if (what != NULL) {
        path[1] = proto_path_key(&path[0], what);
        n = 2;
    }
    for (size_t i = 0; i < s->n_frames; i++, n++) {
        const struct frame *f = &s->frames[i];

        path[n] =
            f->is_object
                ? proto_path_key(&path[n - 1],
                                 proto_json_key(json, s->text + f->key_start,
                                                f->key_length))
                : proto_path_index(&path[n - 1], f->index);
    }
    proto_path_write(&path[n - 1], pointer, size);
}

void proto_locate(struct proto_json *json, struct proto_source source,
                  size_t position, char *pointer, size_t size)
{
    struct scanner s = {.text = source.text, .length = source.length};

    while (s.at < s.length && s.at < position) {
        bool is_scalar = is_place(&s) && s.text[s.at] != '"';

        step(&s);
        while (is_scalar && s.at < s.length && is_place(&s))
            s.at++;
    }
    write_pointer(json, &s, source.what, pointer, size);
}
