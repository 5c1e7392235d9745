/*
 * lines.h: the frame of the programs ..._lines, which answer lines of JSON with
 * lines of JSON.
 */
#ifndef LINES_H
#define LINES_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program: what a test sent is not what it should be. */
static inline _Noreturn void lines_broken(const char *what)
{
    fprintf(stderr, "lines: %s\n", what);
    exit(EXIT_FAILURE);
}

/* Answers every line of standard input; `answer` gives its result away. */
static inline int lines_run(json_t *(*answer)(json_t *line))
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length;

    while ((length = getline(&text, &capacity, stdin)) > 0) {
        json_t *line = json_loadb(text, (size_t)length, 0, NULL);
        json_t *result;

        if (line == NULL)
            lines_broken("not JSON");
        result = answer(line);
        json_dumpf(result, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(result);
        json_decref(line);
    }
    free(text);
    return EXIT_SUCCESS;
}

#endif
