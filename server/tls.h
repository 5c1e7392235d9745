/*
 * tls.h: the certificate and key that HTTPS is served with.
 *
 * libmicrohttpd does TLS with GnuTLS. Each handshake asks here for the
 * certificate, so that a reload changes it for new connections without touching
 * those that are open.
 */
#ifndef SRV_TLS_H
#define SRV_TLS_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>

/* TLS 1.2 and 1.3. */
#define SRV_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* Reads a certificate with its chain and its key (PEM), checks that they belong
 * together, and serves them from now on; else what was served stays, and `why`
 * names the file and what to do. Logs a warning when the certificate is not
 * valid now or everybody may read the key. Also the reload. Any thread. */
bool srv_tls_load(const char *cert_path, const char *key_path, char *why,
                  size_t n_why);
/* Forgets them. After the HTTP thread has ended. */
void srv_tls_release(void);

/* Whether the library can serve them; else `why` says what it lacks. */
bool srv_tls_is_supported(char *why, size_t n_why);
/* The options of MHD_start_daemon beside MHD_USE_TLS, ended by
 * MHD_OPTION_END. */
struct MHD_OptionItem *srv_tls_options(void);

#endif
