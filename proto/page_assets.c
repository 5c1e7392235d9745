/*
 * page_assets.c: the files of proto/pages inside the library, and their hashes
 * as a content security policy wants them.
 */
#include "page.h"

#include <openssl/evp.h>

/* The paths are seen from where make runs. */
#define EMBED_BETWEEN(name, before, path)                                    \
    __asm__(".section .rodata\n"                                             \
            "proto_asset_" #name "_begin:\n" before ".incbin \"" path "\"\n" \
            "proto_asset_" #name "_end:\n"                                   \
            ".byte 0\n"                                                      \
            ".previous\n");                                                  \
    extern const char proto_asset_##name##_begin[]                           \
        __attribute__((visibility("hidden")));                               \
    extern const char proto_asset_##name##_end[]                             \
        __attribute__((visibility("hidden")))
#define EMBED(name, path) EMBED_BETWEEN(name, "", path)
/* A page hands the file on, and so its licence. */
#define EMBED_VENDORED(name, folder, file)           \
    EMBED_BETWEEN(name,                              \
                  ".ascii \"/*\\n\"\n"               \
                  ".incbin \"" folder "/LICENSE\"\n" \
                  ".ascii \"*/\\n\"\n",              \
                  folder "/" file)

#define UPLOT "proto/pages/vendor/uplot-1.6.32"
EMBED_VENDORED(uplot_css, UPLOT, "uPlot.min.css");
EMBED(report_css, "proto/pages/report.css");
EMBED_VENDORED(uplot_js, UPLOT, "uPlot.iife.min.js");
EMBED(report_js, "proto/pages/report.js");

enum {
    N_ASSETS = 4
};
static struct proto_asset assets[N_ASSETS];
static char hashes[N_ASSETS][PROTO_ASSET_HASH_BYTES];

/* "sha256-" and base64. */
static void hash_asset(const struct proto_asset *asset,
                       char hash[PROTO_ASSET_HASH_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int n_bytes = 0;

    hash[0] = '\0';
    if (EVP_Digest(asset->bytes, asset->length, digest, &n_bytes, EVP_sha256(),
                   NULL) == 1)
        EVP_EncodeBlock((unsigned char *)hash, digest, (int)n_bytes);
}

void proto_assets_start(void)
{
#define ASSET(id, name, type)                                         \
    (struct proto_asset){name, type, proto_asset_##id##_begin,        \
                         (size_t)((uintptr_t)proto_asset_##id##_end - \
                                  (uintptr_t)proto_asset_##id##_begin)}
    assets[0] = ASSET(uplot_css, "uplot.css", "text/css; charset=utf-8");
    assets[1] = ASSET(report_css, "report.css", "text/css; charset=utf-8");
    assets[2] = ASSET(uplot_js, "uplot.js", "text/javascript; charset=utf-8");
    assets[3] = ASSET(report_js, "report.js", "text/javascript; charset=utf-8");
    for (size_t i = 0; i < N_ASSETS; i++)
        hash_asset(&assets[i], hashes[i]);
}

const struct proto_asset *proto_assets(size_t *n)
{
    *n = N_ASSETS;
    return assets;
}

const char *proto_asset_hash(size_t i)
{
    return hashes[i];
}
