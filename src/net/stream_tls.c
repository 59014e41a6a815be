/*
 * The TLS half of a stream: an OpenSSL client that always checks the peer's certificate and name. It opens
 * and closes no socket; stream_tcp.c does, and calls this for streams that have TLS.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "net/stream_tls.h"

/* ---- the socket as OpenSSL sees it --------------------------------------------------------------------- */

/* OpenSSL's own socket BIO uses write(), which raises SIGPIPE; a library must not change the program's signal
 * handling, so it has to be send() with MSG_NOSIGNAL. */

static int bio_fd(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int bio_write(BIO *bio, const char *bytes, int length)
{
    BIO_clear_retry_flags(bio);
    ssize_t count;
    do
        count = send(bio_fd(bio), bytes, (size_t)length, MSG_NOSIGNAL);
    while (count == -1 && errno == EINTR);
    if (count == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(bio);
    return (int)count;
}

static int bio_read(BIO *bio, char *bytes, int capacity)
{
    BIO_clear_retry_flags(bio);
    ssize_t count;
    do
        count = recv(bio_fd(bio), bytes, (size_t)capacity, 0);
    while (count == -1 && errno == EINTR);
    if (count == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    if (count == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)count;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH;
}

static pthread_once_t bio_once = PTHREAD_ONCE_INIT;
static BIO_METHOD *bio_method; /* lives as long as the process */

static void create_bio_method(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "redlock stream");
    if (bio_method == NULL)
        return;
    BIO_meth_set_write(bio_method, bio_write);
    BIO_meth_set_read(bio_method, bio_read);
    BIO_meth_set_ctrl(bio_method, bio_control);
}

static BIO *create_bio(int fd)
{
    pthread_once(&bio_once, create_bio_method);
    BIO *bio = bio_method != NULL ? BIO_new(bio_method) : NULL;
    if (bio == NULL)
        return NULL;
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    return bio;
}

/* ---- words for what went wrong ------------------------------------------------------------------------- */

static const struct {
    int reason;
    const char *words;
} known_reasons[] = {
    {SSL_R_WRONG_VERSION_NUMBER, "not a TLS server: write redis:// instead of rediss://"},
    {SSL_R_PACKET_LENGTH_TOO_LONG, "not a TLS server: write redis:// instead of rediss://"},
    {SSL_R_UNEXPECTED_EOF_WHILE_READING, "connection closed during the TLS handshake"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "the node has no TLS 1.2 or later"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "the node has no TLS 1.2 or later"},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
     "the node refused the TLS handshake; it may want a client certificate"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, "the node wants a client certificate"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the node does not know who signed our client certificate"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the node refused our client certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "the node refused our client certificate"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "the node says that our client certificate has expired"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, "the node says that our client certificate was revoked"},
    {SSL_R_TLSV1_UNRECOGNIZED_NAME, "the node does not go by this name"},
};

/* Words for one entry of OpenSSL's error queue. */
static void describe_code(unsigned long code, char *words, size_t size)
{
    if (ERR_SYSTEM_ERROR(code)) {
        rl_stream_errno_words(ERR_GET_REASON(code), words, size);
        return;
    }
    size_t known_count = sizeof known_reasons / sizeof known_reasons[0];
    for (size_t i = 0; ERR_GET_LIB(code) == ERR_LIB_SSL && i < known_count; i++) {
        if (known_reasons[i].reason == ERR_GET_REASON(code)) {
            snprintf(words, size, "%s", known_reasons[i].words);
            return;
        }
    }
    const char *reason = ERR_reason_error_string(code);
    snprintf(words, size, "TLS: %s", reason != NULL ? reason : "unknown error");
}

static void describe_wrong_name(SSL *ssl, char *words, size_t size)
{
    X509_VERIFY_PARAM *parameters = SSL_get0_param(ssl);
    const char *name = X509_VERIFY_PARAM_get0_host(parameters, 0);
    char *numeric = name == NULL ? X509_VERIFY_PARAM_get1_ip_asc(parameters) : NULL;
    if (numeric != NULL)
        name = numeric;
    snprintf(words, size, "certificate is for another name than %s", name != NULL ? name : "the node's");
    OPENSSL_free(numeric);
}

static const char *certificate_remedy(long verdict)
{
    switch (verdict) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        return ": name its authority (tls_ca)";
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return ": renew it on the node";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return ": set the clock of this machine";
    default:
        return "";
    }
}

static void describe_certificate(SSL *ssl, char *words, size_t size)
{
    long verdict = SSL_get_verify_result(ssl);
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
        describe_wrong_name(ssl, words, size);
    else
        snprintf(words, size, "certificate verify failed: %s%s", X509_verify_cert_error_string(verdict),
                 certificate_remedy(verdict));
}

static bool is_reason(unsigned long code, int reason)
{
    return ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) == reason;
}

/* What a call of OpenSSL that returned `returned` comes to. Empties the error queue, which is shared with
 * the rest of the program. */
static enum rl_io judge_result(struct rl_stream *stream, int returned)
{
    int error_number = errno;
    int error = SSL_get_error(stream->ssl, returned);
    unsigned long code = ERR_peek_error();
    bool end = error == SSL_ERROR_ZERO_RETURN ||
               (!stream->connecting && is_reason(code, SSL_R_UNEXPECTED_EOF_WHILE_READING));
    enum rl_io result = RL_IO_FAILED;
    stream->cause = RL_CAUSE_TLS;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        stream->wants = error == SSL_ERROR_WANT_READ ? RL_WANT_READ : RL_WANT_WRITE;
        result = RL_IO_AGAIN;
    } else if (end) {
        /* Replies carry their own length, so an end without the TLS good-bye hides nothing. */
        snprintf(stream->error, sizeof stream->error, "connection closed by the peer");
        result = RL_IO_CLOSED;
    } else if (error == SSL_ERROR_SYSCALL) {
        rl_stream_set_errno(stream, error_number);
    } else if (is_reason(code, SSL_R_CERTIFICATE_VERIFY_FAILED)) {
        describe_certificate(stream->ssl, stream->error, sizeof stream->error);
    } else {
        describe_code(code, stream->error, sizeof stream->error);
    }
    ERR_clear_error();
    return result;
}

/* ---- settings shared by the streams of a client -------------------------------------------------------- */

/* Never asks the terminal for a passphrase. */
static int refuse_passphrase(char *buffer, int size, int writing, void *context)
{
    (void)buffer;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

static const struct {
    int library;
    int reason;
    const char *words;
} file_reasons[] = {
    {ERR_LIB_PEM, PEM_R_NO_START_LINE, "nothing of the kind in it (PEM is expected)"},
    {ERR_LIB_X509, X509_R_NO_CERTIFICATE_OR_CRL_FOUND, "nothing of the kind in it (PEM is expected)"},
    {ERR_LIB_OSSL_DECODER, ERR_R_UNSUPPORTED, "nothing of the kind in it (PEM is expected)"},
    {ERR_LIB_CRYPTO, ERR_R_INTERRUPTED_OR_CANCELLED, "it has a passphrase; give a key without one"},
    {ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH, "it does not belong to the certificate"},
};

/* Says what is wrong with a file, from the oldest entry of the error queue (the cause), and empties it. */
static bool blame_file(const char *what, const char *file, char *error, size_t error_size)
{
    unsigned long code = ERR_peek_error();
    char words[128];
    describe_code(code, words, sizeof words);
    for (size_t i = 0; i < sizeof file_reasons / sizeof file_reasons[0]; i++) {
        if (file_reasons[i].library == ERR_GET_LIB(code) && file_reasons[i].reason == ERR_GET_REASON(code))
            snprintf(words, sizeof words, "%s", file_reasons[i].words);
    }
    snprintf(error, error_size, "%s %s: %s", what, file, words);
    ERR_clear_error();
    return false;
}

static bool load_authorities(SSL_CTX *tls, const char *ca_file, char *error, size_t error_size)
{
    if (ca_file != NULL)
        return SSL_CTX_load_verify_file(tls, ca_file) == 1 ||
               blame_file("tls ca file", ca_file, error, error_size);
    if (SSL_CTX_set_default_verify_paths(tls) == 1)
        return true;
    snprintf(error, error_size, "the system's certificates cannot be read; name a tls ca file");
    return false;
}

static bool load_identity(SSL_CTX *tls, const char *cert_file, const char *key_file, char *error,
                          size_t error_size)
{
    if (cert_file == NULL && key_file == NULL)
        return true;
    if (cert_file == NULL || key_file == NULL) {
        snprintf(error, error_size, "a tls cert file and a tls key file go together; one is missing");
        return false;
    }
    if (SSL_CTX_use_certificate_chain_file(tls, cert_file) != 1)
        return blame_file("tls cert file", cert_file, error, error_size);
    if (SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) != 1)
        return blame_file("tls key file", key_file, error, error_size);
    /* A key of another type than the certificate's is taken above, and found only here. */
    if (SSL_CTX_check_private_key(tls) == 1)
        return true;
    snprintf(error, error_size, "tls key file %s: it does not belong to the certificate", key_file);
    return false;
}

static bool set_rules(SSL_CTX *tls)
{
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_default_passwd_cb(tls, refuse_passphrase);
    return SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1;
}

struct ssl_ctx_st *rl_tls_create(const char *ca_file, const char *cert_file, const char *key_file,
                                 char *error, size_t error_size)
{
    ERR_clear_error();
    snprintf(error, error_size, "TLS could not be set up");
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    bool good = tls != NULL && set_rules(tls) && load_authorities(tls, ca_file, error, error_size) &&
                load_identity(tls, cert_file, key_file, error, error_size);
    ERR_clear_error();
    if (!good) {
        SSL_CTX_free(tls);
        return NULL;
    }
    error[0] = '\0';
    return tls;
}

void rl_tls_free(struct ssl_ctx_st *tls)
{
    SSL_CTX_free(tls);
}

/* ---- one stream ---------------------------------------------------------------------------------------- */

/* OpenSSL checks no name at all when it is given an empty one, and a whole domain when it starts with a
 * dot. The dot that ends a full name is not in certificates. */
static bool copy_name(const char *server_name, char *name, size_t size)
{
    size_t length = strlen(server_name);
    if (length > 1 && server_name[length - 1] == '.')
        length--;
    if (length == 0 || length >= size || server_name[0] == '.')
        return false;
    memcpy(name, server_name, length);
    name[length] = '\0';
    return true;
}

/* The certificate must be for this name; names, and only they, are also told to the peer (SNI). */
static bool expect_name(SSL *ssl, const char *server_name)
{
    char name[256];
    if (!copy_name(server_name, name, sizeof name))
        return false;
    unsigned char binary[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, name, binary) == 1 || inet_pton(AF_INET6, name, binary) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
}

bool rl_tls_attach(struct rl_stream *stream, struct ssl_ctx_st *tls, const char *server_name)
{
    assert(stream->ssl == NULL);
    assert(server_name != NULL);
    ERR_clear_error();
    stream->cause = RL_CAUSE_TLS;
    BIO *bio = NULL;
    SSL *ssl = SSL_new(tls);
    if (ssl == NULL || (bio = create_bio(stream->fd)) == NULL) {
        snprintf(stream->error, sizeof stream->error, "out of memory for TLS");
        goto failed;
    }
    SSL_set_bio(ssl, bio, bio);
    if (!expect_name(ssl, server_name)) {
        snprintf(stream->error, sizeof stream->error, "no certificate can be for this name");
        goto failed;
    }
    SSL_set_connect_state(ssl);
    stream->ssl = ssl;
    return true;
failed:
    SSL_free(ssl);
    ERR_clear_error();
    return false;
}

bool rl_tls_begun(const struct rl_stream *stream)
{
    return !SSL_in_before(stream->ssl);
}

enum rl_io rl_tls_handshake(struct rl_stream *stream)
{
    ERR_clear_error();
    int returned = SSL_do_handshake(stream->ssl);
    if (returned != 1)
        return judge_result(stream, returned);
    return RL_IO_DONE;
}

enum rl_io rl_tls_read(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got)
{
    ERR_clear_error();
    int returned = SSL_read_ex(stream->ssl, bytes, capacity, got);
    return returned == 1 ? RL_IO_DONE : judge_result(stream, returned);
}

bool rl_tls_pending(const struct rl_stream *stream)
{
    return SSL_pending(stream->ssl) > 0;
}

enum rl_io rl_tls_write(struct rl_stream *stream, const char *bytes, size_t length, size_t *put)
{
    ERR_clear_error();
    int returned = SSL_write_ex(stream->ssl, bytes, length, put);
    return returned == 1 ? RL_IO_DONE : judge_result(stream, returned);
}

void rl_tls_detach(struct rl_stream *stream, bool farewell)
{
    ERR_clear_error();
    /* In the middle of a handshake (OpenSSL counts a failed stream as that) there is nothing to end. */
    if (farewell && !SSL_in_init(stream->ssl))
        (void)SSL_shutdown(stream->ssl);
    SSL_free(stream->ssl);
    stream->ssl = NULL;
    ERR_clear_error();
}

int64_t rl_stream_certificate_end(const struct rl_stream *stream)
{
    X509 *certificate = stream->ssl == NULL ? NULL : SSL_get0_peer_certificate(stream->ssl);
    struct tm end;

    if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
        return 0;
    return (int64_t)timegm(&end);
}
