/*
 * TLS for clients that come over TCP; see tls.h.
 */
#include "serve/tls.h"

#include <string.h>

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

static SSL_CTX *refuse(const struct serve_server *server, SSL_CTX *context, const char *what,
                       const char *path)
{
    char words[160];

    ERR_error_string_n(ERR_get_error(), words, sizeof words);
    serve_say(server, SERVE_ERROR, "%s %s cannot be used: %s", what, path, words);
    SSL_CTX_free(context);
    return NULL;
}

SSL_CTX *serve_tls_new(const struct serve_server *server)
{
    const struct serve_settings *settings = server->settings;
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    if (context == NULL)
        return refuse(server, NULL, "TLS", "");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_use_certificate_chain_file(context, settings->tls_cert) != 1)
        return refuse(server, context, "serve_tls_cert", settings->tls_cert);
    if (settings->tls_key == NULL ||
        SSL_CTX_use_PrivateKey_file(context, settings->tls_key, SSL_FILETYPE_PEM) != 1)
        return refuse(server, context, "serve_tls_key", settings->tls_key == NULL ? "" : settings->tls_key);
    if (settings->tls_client_ca != NULL) {
        if (SSL_CTX_load_verify_locations(context, settings->tls_client_ca, NULL) != 1)
            return refuse(server, context, "serve_tls_client_ca", settings->tls_client_ca);
        SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(settings->tls_client_ca));
        /* A certificate is not required, for a token may do; one that is shown has to be good. */
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    }
    return context;
}

struct bufferevent *serve_tls_wrap(SSL_CTX *tls, struct event_base *base, evutil_socket_t socket)
{
    SSL *ssl = SSL_new(tls);

    if (ssl == NULL)
        return NULL;
    struct bufferevent *buffer =
        bufferevent_openssl_socket_new(base, socket, ssl, BUFFEREVENT_SSL_ACCEPTING, BEV_OPT_CLOSE_ON_FREE);
    if (buffer == NULL)
        SSL_free(ssl);
    else
        bufferevent_openssl_set_allow_dirty_shutdown(buffer, 1);
    return buffer;
}

void *serve_tls_of(struct bufferevent *buffer)
{
    return bufferevent_openssl_get_ssl(buffer);
}

const struct serve_principal *serve_tls_principal(const struct serve_server *server,
                                                  struct bufferevent *buffer)
{
    SSL *ssl = bufferevent_openssl_get_ssl(buffer);
    X509 *certificate = ssl == NULL ? NULL : SSL_get1_peer_certificate(ssl);
    char name[65] = "";

    if (certificate == NULL)
        return NULL;
    bool good = SSL_get_verify_result(ssl) == X509_V_OK;
    int length =
        X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
    X509_free(certificate);
    /* A name with a NUL in it would pass for the part before. */
    return good && length > 0 && (size_t)length == strlen(name)
               ? serve_access_by_name(&server->access, SERVE_CERTIFICATE, name)
               : NULL;
}
