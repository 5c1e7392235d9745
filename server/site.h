/*
 * site.h: the fixed parts of the pages: the files that they load, each under a
 * name that changes with its content, and the templates that they are made
 * from. All are inside the program.
 *
 * Threads: init and release alone; the rest from any thread.
 */
#ifndef SRV_SITE_H
#define SRV_SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

#define SRV_SITE_MOST 16 /* files */

struct srv_site {
    struct srv_site_file {
        const char *name;
        struct srv_answer *answer; /* its ETag is what "?v=" says */
    } files[SRV_SITE_MOST];
    size_t n_files;
};

enum srv_template {
    SRV_TEMPLATE_LAYOUT, /* around every page */
    SRV_TEMPLATE_HOME,
    SRV_TEMPLATE_JOB,     /* of a job without a report, or not yet */
    SRV_TEMPLATE_SHELL,   /* of a job that a token is needed for */
    SRV_TEMPLATE_PROBLEM, /* in place of a page */
    SRV_N_TEMPLATES
};

/* What stands for {{name}}: HTML, put in as it is. */
struct srv_fill {
    const char *name;
    const char *html;
};

/* Copies and hashes the files: O(their bytes). False without memory. */
bool srv_site_init(struct srv_site *site);
void srv_site_release(struct srv_site *site);
/* The file of that name, without a new reference: it lives as long as the site.
 * NULL when there is none. */
struct srv_answer *srv_site_file(const struct srv_site *site, const char *name);
/* Appends the template. {{asset:NAME}} becomes the address of that file; what
 * stands for nothing is left out. O(length x fills). */
void srv_site_fill(const struct srv_site *site, struct srv_text *text,
                   enum srv_template which, const struct srv_fill *fills,
                   size_t n_fills);

#endif
