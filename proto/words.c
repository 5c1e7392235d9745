/*
 * words.c: guessing what was meant.
 */
#include "words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "proto.h"

enum {
    LONGEST_WORD = 64,
    MOST_LISTED = 8 /* behind a guess */
};

int proto_words_find(struct proto_words words, const char *word)
{
    for (size_t i = 0; i < words.n; i++)
        if (words.at[i][0] == word[0] && strcmp(words.at[i], word) == 0)
            return (int)i;
    return -1;
}

/* Lower case, with '-' and ' ' as '_'; false when the word is too long. */
static bool normalise(const char *word, char out[LONGEST_WORD + 1])
{
    size_t n = strlen(word);

    if (n > LONGEST_WORD)
        return false;
    for (size_t i = 0; i <= n; i++) {
        out[i] = (char)tolower((unsigned char)word[i]);
        if (out[i] == '-' || out[i] == ' ')
            out[i] = '_';
    }
    return true;
}

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Levenshtein's distance, one row at a time. */
size_t proto_word_distance(const char *a, const char *b, size_t most)
{
    char x[LONGEST_WORD + 1] = "";
    char y[LONGEST_WORD + 1] = "";
    size_t row[LONGEST_WORD + 1] = {0};
    size_t n;

    if (!normalise(a, x) || !normalise(b, y))
        return most + 1;
    n = strlen(y);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; x[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t changed = diagonal + (x[i - 1] != y[j - 1]);

            diagonal = row[j];
            row[j] = min3(changed, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[n] <= most ? row[n] : most + 1;
}

/* What is behind the last dot: CheckpointPolicy.MUST_SAVE, torch.float32. */
static const char *tail(const char *word)
{
    const char *dot = strrchr(word, '.');

    return dot == NULL ? word : dot + 1;
}

const char *proto_words_nearest(struct proto_words words, const char *word)
{
    size_t most = strlen(word) / 4 + 1;
    size_t best = most + 1;
    const char *nearest = NULL;

    for (size_t i = 0; i < words.n; i++) {
        size_t distance = proto_word_distance(words.at[i], word, most);

        if (proto_word_distance(words.at[i], tail(word), 0) == 0)
            distance = 0;
        if (distance < best) {
            best = distance;
            nearest = words.at[i];
        }
    }
    return nearest;
}

static void append_list(struct proto_words words, const char *before,
                        const char *after, char *text, size_t size)
{
    size_t length = strlen(text);

    snprintf(text + length, size - length, "%s", before);
    for (size_t i = 0; i < words.n; i++) {
        length = strlen(text);
        snprintf(text + length, size - length, "%s%s",
                 i == 0 ? "" : (i + 1 == words.n ? " or " : ", "), words.at[i]);
    }
    length = strlen(text);
    snprintf(text + length, size - length, "%s", after);
}

void proto_words_advise(struct proto_words words, const char *word, char *text,
                        size_t size)
{
    const char *nearest = proto_words_nearest(words, word);
    bool is_sure;

    text[0] = '\0';
    if (nearest == NULL) {
        append_list(words, "expected ", "", text, size);
        return;
    }
    is_sure = proto_word_distance(nearest, tail(word), 0) == 0;
    snprintf(text, size, is_sure ? "write %s" : "did you mean %s?", nearest);
    if (words.n > 1 && words.n <= MOST_LISTED)
        append_list(words, " (expected ", ")", text, size);
}

const char *proto_nearest_word(const char *const *known, size_t n,
                               const char *word)
{
    return proto_words_nearest((struct proto_words){known, n}, word);
}
