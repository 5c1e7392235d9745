/*
 * config_file.c: the form of a --config file: lines "key = value", comments on
 * lines of their own, nothing else.
 *
 * The small libraries for such files either do not tell a setting's line or
 * accept what is no setting, and a daemon must not start with half of a file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_table.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)

/* Reads to the end, at most one byte too much; the number of bytes. */
static size_t read_all(FILE *file, char *text)
{
    size_t length = 0;
    size_t n;

    do {
        n = fread(text + length, 1, FILE_MAX_BYTES + 1 - length, file);
        length += n;
    } while (n > 0);
    return length;
}

static bool check_text(const char *name, const char *text, size_t length)
{
    if (length > FILE_MAX_BYTES) {
        fprintf(stderr, "rematd: --config %s: larger than 1 MiB\n", name);
        return false;
    }
    if (memchr(text, '\0', length) != NULL) {
        fprintf(stderr, "rematd: --config %s: not a text file\n", name);
        return false;
    }
    return true;
}

char *srv_config_file_load(const char *name)
{
    char why[128] = "";
    char *text = malloc(FILE_MAX_BYTES + 2);
    FILE *file = text == NULL ? NULL : fopen(name, "r");

    if (file == NULL)
        goto failed;
    const size_t length = read_all(file, text);
    if (ferror(file) != 0)
        goto failed;
    fclose(file);
    text[length] = '\0';
    if (check_text(name, text, length)) {
        char *fitted = realloc(text, length + 1);

        return fitted != NULL ? fitted : text;
    }
    free(text);
    return NULL;
failed:
    if (strerror_r(errno, why, sizeof why) != 0)
        snprintf(why, sizeof why, "error %d", errno);
    fprintf(stderr, "rematd: --config %s: %s\n", name, why);
    if (file != NULL)
        fclose(file);
    free(text);
    return NULL;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Cuts blanks off both ends, the far one at `end`. */
static char *trim(char *text, char *end)
{
    while (text < end && is_blank(*text))
        text++;
    while (end > text && is_blank(end[-1]))
        end--;
    *end = '\0';
    return text;
}

static enum srv_config_step refuse(const struct srv_config_reader *reader,
                                   const char *text, const char *why)
{
    fprintf(stderr, "rematd: %s:%u: \"%.60s\": %s\n", reader->name,
            reader->number, text, why);
    return SRV_STEP_WRONG;
}

/* A line that is more than blanks and comment. */
static enum srv_config_step split(const struct srv_config_reader *reader,
                                  char *text, struct srv_config_line *line)
{
    char *equals = strchr(text, '=');

    if (equals == NULL)
        return refuse(reader, text,
                      *text == '['
                          ? "there are no sections; write key = value"
                          : "write key = value, or # before a comment");
    char *value = trim(equals + 1, equals + strlen(equals));
    char *key = trim(text, equals);
    if (*key == '\0')
        return refuse(reader, value, "there is no key before the \"=\"");
    *line = (struct srv_config_line){key, value, reader->number};
    return SRV_STEP_LINE;
}

enum srv_config_step srv_config_file_next(struct srv_config_reader *reader,
                                          struct srv_config_line *line)
{
    while (*reader->at != '\0') {
        char *start = reader->at;
        char *end = start + strcspn(start, "\n");

        reader->at = *end == '\0' ? end : end + 1;
        reader->number++;
        char *text = trim(start, end);
        if (*text != '\0' && *text != '#')
            return split(reader, text, line);
    }
    return SRV_STEP_END;
}
