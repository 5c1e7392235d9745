/*
 * words.h: lists of known words: look-up, and the nearest one to a mistake.
 */
#ifndef PROTO_WORDS_H
#define PROTO_WORDS_H

#include <stdbool.h>
#include <stddef.h>

struct proto_words {
    const char *const *at;
    size_t n;
};
#define PROTO_WORDS(array) \
    ((struct proto_words){(array), sizeof(array) / sizeof((array)[0])})

/* Position of `word`, or -1. */
int proto_words_find(struct proto_words words, const char *word);
/* The known word that `word` was probably meant to be (same letters in another
 * case, or a few letters off), or NULL. */
const char *proto_words_nearest(struct proto_words words, const char *word);
/* How far apart two words are, letter case aside: edits, at most `most` + 1. */
size_t proto_word_distance(const char *a, const char *b, size_t most);
/* Writes "write X" where only case or prefix differ, "did you mean X?" where X
 * is near, with all that is expected behind it where that is not much; else
 * "expected A, B or C". */
void proto_words_advise(struct proto_words words, const char *word, char *text,
                        size_t size);

#endif
