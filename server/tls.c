/*
 * tls.c: see tls.h.
 *
 * The library's callback knows no context of ours, so the pair that is served
 * is the one object with static storage here.
 */
#include "tls.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "file.h"
#include "log.h"

#define MOST_FILE_BYTES ((size_t)1 << 20)
#define MOST_CHAIN      16U
#define KEY_ID_BYTES    64

struct pair {
    gnutls_x509_crt_t *chain;
    unsigned n_chain;
    gnutls_x509_privkey_t key;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pair served;

static void release(struct pair *pair)
{
    for (unsigned i = 0; i < pair->n_chain; i++)
        gnutls_x509_crt_deinit(pair->chain[i]);
    gnutls_free(pair->chain);
    gnutls_x509_privkey_deinit(pair->key);
    *pair = (struct pair){0};
}

/* ---- handshakes -------------------------------------------------------- */

/* Copies of the chain for one handshake, which GnuTLS frees; NULL on failure.
 */
static gnutls_pcert_st *copy_chain(void)
{
    gnutls_pcert_st *copy = gnutls_calloc(served.n_chain, sizeof *copy);

    for (unsigned i = 0; copy != NULL && i < served.n_chain; i++) {
        if (gnutls_pcert_import_x509(&copy[i], served.chain[i], 0) == 0)
            continue;
        while (i > 0)
            gnutls_pcert_deinit(&copy[--i]);
        gnutls_free(copy);
        copy = NULL;
    }
    return copy;
}

static gnutls_privkey_t copy_key(void)
{
    gnutls_privkey_t copy = NULL;

    if (gnutls_privkey_init(&copy) != 0)
        return NULL;
    if (gnutls_privkey_import_x509(copy, served.key,
                                   GNUTLS_PRIVKEY_IMPORT_COPY) == 0)
        return copy;
    gnutls_privkey_deinit(copy);
    return NULL;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static int give_pair(gnutls_session_t session,
                     const struct gnutls_cert_retr_st *info,
                     gnutls_pcert_st **chain, unsigned *n_chain,
                     gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
                     gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)info;
    pthread_mutex_lock(&lock);
    *chain = copy_chain();
    *n_chain = served.n_chain;
    *key = copy_key();
    pthread_mutex_unlock(&lock);
    *ocsp = NULL;
    *n_ocsp = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    if (*chain != NULL && *key != NULL)
        return 0;
    for (unsigned i = 0; *chain != NULL && i < *n_chain; i++)
        gnutls_pcert_deinit(&(*chain)[i]);
    gnutls_free(*chain);
    gnutls_privkey_deinit(*key);
    return -1;
}

bool srv_tls_is_supported(char *why, size_t n_why)
{
    if (MHD_is_feature_supported(MHD_FEATURE_TLS) == MHD_YES &&
        MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK2) == MHD_YES)
        return true;
    snprintf(why, n_why,
             "libmicrohttpd was built without TLS (GnuTLS 3.6.3 or later)");
    return false;
}

struct MHD_OptionItem *srv_tls_options(void)
{
    static char priorities[] = SRV_TLS_PRIORITIES;
    static struct MHD_OptionItem options[3];
    /* A function as the number that the library takes. */
    const union {
        gnutls_certificate_retrieve_function3 *function;
        void *data;
    } callback = {.function = give_pair};

    options[0] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0,
                                         callback.data};
    options[1] =
        (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities};
    options[2] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return options;
}

/* ---- files ------------------------------------------------------------- */

struct why {
    char *text;
    size_t size;
};

static bool fail(struct why why, const char *flag, const char *path,
                 const char *text)
{
    snprintf(why.text, why.size, "%s %s: %s", flag, path, text);
    return false;
}

static char *read_pem(struct why why, const char *flag, const char *path,
                      size_t *n_bytes, bool *is_exposed)
{
    char text[160] = "";
    char *bytes = srv_file_read(path, MOST_FILE_BYTES, n_bytes, is_exposed,
                                text, sizeof text);

    if (bytes == NULL)
        fail(why, flag, path, text);
    return bytes;
}

static gnutls_datum_t datum(char *bytes, size_t n_bytes)
{
    return (gnutls_datum_t){(unsigned char *)bytes, (unsigned)n_bytes};
}

static bool read_chain(struct why why, const char *path, struct pair *pair)
{
    size_t n_bytes = 0;
    bool is_exposed = false;
    char *bytes = read_pem(why, "--tls-cert", path, &n_bytes, &is_exposed);
    const gnutls_datum_t pem = datum(bytes, n_bytes);

    if (bytes == NULL)
        return false;
    const int error = gnutls_x509_crt_list_import2(
        &pair->chain, &pair->n_chain, &pem, GNUTLS_X509_FMT_PEM,
        GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);
    srv_file_free(bytes, n_bytes);
    if (error == GNUTLS_E_CERTIFICATE_LIST_UNSORTED)
        return fail(why, "--tls-cert", path,
                    "the server's certificate must come first, then that of "
                    "each issuer");
    if (error < 0)
        return fail(why, "--tls-cert", path, gnutls_strerror(error));
    if (pair->n_chain == 0 || pair->n_chain > MOST_CHAIN)
        return fail(why, "--tls-cert", path, "must hold 1 to 16 certificates");
    return true;
}

static bool read_key(struct why why, const char *path, struct pair *pair)
{
    size_t n_bytes = 0;
    bool is_exposed = false;
    char *bytes = read_pem(why, "--tls-key", path, &n_bytes, &is_exposed);
    const gnutls_datum_t pem = datum(bytes, n_bytes);
    int error = GNUTLS_E_MEMORY_ERROR;

    if (bytes == NULL)
        return false;
    if (gnutls_x509_privkey_init(&pair->key) == 0)
        error = gnutls_x509_privkey_import2(pair->key, &pem,
                                            GNUTLS_X509_FMT_PEM, NULL, 0);
    srv_file_free(bytes, n_bytes);
    if (error == GNUTLS_E_DECRYPTION_FAILED)
        return fail(why, "--tls-key", path,
                    "is encrypted; give a key without a passphrase");
    if (error < 0)
        return fail(why, "--tls-key", path, gnutls_strerror(error));
    if (is_exposed)
        srv_log_event("warn", "tls", "message",
                      "everybody on this machine may read the TLS key; chmod "
                      "600 or 640 it");
    return true;
}

/* Whether both have the same public key. */
static bool belong_together(const struct pair *pair)
{
    unsigned char ids[2][KEY_ID_BYTES];
    size_t sizes[2] = {KEY_ID_BYTES, KEY_ID_BYTES};

    return gnutls_x509_crt_get_key_id(pair->chain[0], GNUTLS_KEYID_USE_SHA256,
                                      ids[0], &sizes[0]) == 0 &&
           gnutls_x509_privkey_get_key_id(pair->key, GNUTLS_KEYID_USE_SHA256,
                                          ids[1], &sizes[1]) == 0 &&
           sizes[0] == sizes[1] && memcmp(ids[0], ids[1], sizes[0]) == 0;
}

static void warn_of_dates(const struct pair *pair)
{
    const time_t now = time(NULL);

    if (gnutls_x509_crt_get_expiration_time(pair->chain[0]) < now)
        srv_log_event("warn", "tls", "message", "the certificate has expired");
    else if (gnutls_x509_crt_get_activation_time(pair->chain[0]) > now)
        srv_log_event("warn", "tls", "message",
                      "the certificate is not valid yet");
}

bool srv_tls_load(const char *cert_path, const char *key_path, char *why,
                  size_t n_why)
{
    const struct why to = {why, n_why};
    struct pair pair = {0};
    *why = '\0';
    bool ok = read_chain(to, cert_path, &pair) && read_key(to, key_path, &pair);

    if (ok && !belong_together(&pair))
        ok = fail(to, "--tls-key", key_path,
                  "is not the key of the certificate in --tls-cert");
    if (ok) {
        warn_of_dates(&pair);
        pthread_mutex_lock(&lock);
        const struct pair old = served;
        served = pair;
        pthread_mutex_unlock(&lock);
        pair = old;
    }
    release(&pair);
    return ok;
}

void srv_tls_release(void)
{
    release(&served);
}
