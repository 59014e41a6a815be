/*
 * Streams with TLS against a node played by a thread of this process, with certificates made on the spot.
 * What holds for streams without TLS as well is tested with those.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cmocka.h>

#include "support/stream_steps.h"
#include "support/temp_folder.h"

enum { DAY = 24 * 60 * 60, LARGE = 16 * 1024 * 1024 };

static volatile sig_atomic_t sigpipe_count;

static void count_sigpipe(int signal_number)
{
    (void)signal_number;
    sigpipe_count++;
}

/* ---- certificates -------------------------------------------------------------------------------------- */

struct identity {
    EVP_PKEY *key;
    X509 *certificate;
};

static struct identity authority, node_identity, expired_identity, self_signed_identity, client_identity;

static char folder[TEMP_FOLDER_MAX];
static char ca_file[128], cert_file[128], key_file[128], locked_key_file[128], other_key_file[128],
    text_file[128];

static void add_extension(X509 *certificate, int kind, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, kind, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

/* Makes a key and a certificate that ends so many seconds from now; without an issuer it signs itself. */
static struct identity create_identity(const char *name, const char *extension_value, int extension_kind,
                                       long seconds_left, const struct identity *issuer)
{
    static long serial = 1;
    struct identity made = {EVP_EC_gen("P-256"), X509_new()};
    assert_non_null(made.key);
    assert_non_null(made.certificate);
    if (issuer == NULL)
        issuer = &made;
    X509_set_version(made.certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.certificate), -2 * DAY);
    X509_gmtime_adj(X509_getm_notAfter(made.certificate), seconds_left);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.certificate), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(made.certificate, X509_get_subject_name(issuer->certificate));
    X509_set_pubkey(made.certificate, made.key);
    add_extension(made.certificate, extension_kind, extension_value);
    assert_true(X509_sign(made.certificate, issuer->key, EVP_sha256()) > 0);
    return made;
}

static void free_identity(struct identity *identity)
{
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
}

static FILE *create_file(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void write_files(void)
{
    FILE *file = create_file(ca_file, sizeof ca_file, "ca.pem");
    assert_int_equal(PEM_write_X509(file, authority.certificate), 1);
    fclose(file);
    file = create_file(cert_file, sizeof cert_file, "client.pem");
    assert_int_equal(PEM_write_X509(file, client_identity.certificate), 1);
    fclose(file);
    file = create_file(key_file, sizeof key_file, "client.key");
    assert_int_equal(PEM_write_PrivateKey(file, client_identity.key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    file = create_file(locked_key_file, sizeof locked_key_file, "locked.key");
    assert_int_equal(
        PEM_write_PKCS8PrivateKey(file, client_identity.key, EVP_aes_128_cbc(), "secret", 6, NULL, NULL), 1);
    fclose(file);
    EVP_PKEY *other_key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    file = create_file(other_key_file, sizeof other_key_file, "other.key");
    assert_int_equal(PEM_write_PrivateKey(file, other_key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    EVP_PKEY_free(other_key);
    file = create_file(text_file, sizeof text_file, "text.txt");
    fputs("not a certificate\n", file);
    fclose(file);
}

static int create_certificates(void **state)
{
    (void)state;
    assert_true(temp_folder_make(folder));
    const char *names = "DNS:node.example,DNS:*.fleet.example,IP:127.0.0.1";
    authority = create_identity("test authority", "critical,CA:TRUE", NID_basic_constraints, DAY, NULL);
    node_identity = create_identity("node", names, NID_subject_alt_name, DAY, &authority);
    expired_identity = create_identity("expired", names, NID_subject_alt_name, -DAY, &authority);
    self_signed_identity = create_identity("self-signed", names, NID_subject_alt_name, DAY, NULL);
    client_identity = create_identity("client", "DNS:client.example", NID_subject_alt_name, DAY, &authority);
    write_files();
    struct sigaction counting = {.sa_handler = count_sigpipe};
    return sigaction(SIGPIPE, &counting, NULL);
}

static int remove_certificates(void **state)
{
    (void)state;
    struct identity *all[] = {&authority, &node_identity, &expired_identity, &self_signed_identity,
                              &client_identity};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free_identity(all[i]);
    temp_folder_remove(folder);
    return 0;
}

/* ---- the node ------------------------------------------------------------------------------------------ */

enum behaviour {
    ECHO,   /* speaks TLS and sends back what it got */
    COUNT,  /* speaks TLS; reads, and counts, only when the gate is opened */
    PLAIN,  /* answers in plain text, as Redis does without TLS */
    MUTE,   /* takes the connection and says nothing */
    HANG_UP /* closes after the first bytes */
};

struct node {
    enum behaviour behaviour;
    const struct identity *identity;
    bool wants_client_certificate;
    int max_version; /* of TLS; 0: any */

    int listener;
    int gate[2];
    struct rl_address address;
    pthread_t thread;
    SSL_CTX *settings;

    /* Known once the node has stopped. */
    bool shook_hands, ended_in_order;
    size_t received;
    char said_name[64]; /* by the client, in SNI */
};

static void talk(struct node *node, SSL *ssl)
{
    char bytes[16384];
    int count;
    if (node->behaviour == COUNT)
        (void)!read(node->gate[0], bytes, 1);
    while ((count = SSL_read(ssl, bytes, sizeof bytes)) > 0) {
        node->received += (size_t)count;
        if (node->behaviour == ECHO && SSL_write(ssl, bytes, count) <= 0)
            break;
    }
    node->ended_in_order = count == 0 && SSL_get_error(ssl, count) == SSL_ERROR_ZERO_RETURN;
}

static void speak_tls(struct node *node, int fd)
{
    SSL *ssl = SSL_new(node->settings);
    SSL_set_fd(ssl, fd);
    node->shook_hands = SSL_accept(ssl) == 1;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    snprintf(node->said_name, sizeof node->said_name, "%s", name != NULL ? name : "");
    if (node->shook_hands)
        talk(node, ssl);
    SSL_free(ssl);
}

/* Serves one connection. Its own SIGPIPEs, which OpenSSL raises, are not what is tested. */
static void *run_node(void *argument)
{
    struct node *node = argument;
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    int fd = accept(node->listener, NULL, NULL);
    char bytes[4096];
    if (node->behaviour == ECHO || node->behaviour == COUNT)
        speak_tls(node, fd);
    if (node->behaviour == PLAIN && recv(fd, bytes, sizeof bytes, 0) > 0)
        (void)!send(fd, "-ERR unknown command\r\n", 22, MSG_NOSIGNAL);
    if (node->behaviour == HANG_UP)
        (void)!recv(fd, bytes, sizeof bytes, 0);
    /* Closing with bytes unread would reset the connection under what was said last. */
    if (node->behaviour != MUTE)
        shutdown(fd, SHUT_WR);
    while (node->behaviour != HANG_UP && recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    close(fd);
    ERR_clear_error();
    OPENSSL_thread_stop();
    return NULL;
}

static void set_up_tls(struct node *node)
{
    node->settings = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_security_level(node->settings, 0); /* else no version before 1.2 can be offered */
    SSL_CTX_set_min_proto_version(node->settings, TLS1_VERSION);
    SSL_CTX_set_max_proto_version(node->settings, node->max_version);
    assert_int_equal(SSL_CTX_use_certificate(node->settings, node->identity->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(node->settings, node->identity->key), 1);
    if (node->wants_client_certificate) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(node->settings), authority.certificate);
        SSL_CTX_set_verify(node->settings, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
}

static void start_node(struct node *node)
{
    if (node->identity == NULL)
        node->identity = &node_identity;
    set_up_tls(node);
    assert_int_equal(pipe(node->gate), 0);
    node->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(rl_address_numeric(&node->address, "127.0.0.1", 0));
    struct sockaddr *address = (struct sockaddr *)&node->address.storage;
    assert_int_equal(bind(node->listener, address, node->address.length), 0);
    assert_int_equal(getsockname(node->listener, address, &node->address.length), 0);
    assert_int_equal(listen(node->listener, 1), 0);
    assert_int_equal(pthread_create(&node->thread, NULL, run_node, node), 0);
}

/* Waits for the end of the connection, which the caller has closed. */
static void stop_node(struct node *node)
{
    assert_int_equal(pthread_join(node->thread, NULL), 0);
    close(node->listener);
    close(node->gate[0]);
    close(node->gate[1]);
    SSL_CTX_free(node->settings);
}

/* ---- the client ---------------------------------------------------------------------------------------- */

static SSL_CTX *create_tls(const char *ca, const char *cert, const char *key)
{
    char error[256];
    SSL_CTX *tls = rl_tls_create(ca, cert, key, error, sizeof error);
    if (tls == NULL)
        fail_msg("%s", error);
    return tls;
}

static enum rl_io connect_stream(struct rl_stream *stream, const struct node *node, SSL_CTX *tls,
                                 const char *name)
{
    rl_stream_init(stream);
    assert_true(rl_stream_open(stream, &node->address, tls, name));
    enum rl_io result = connect_fully(stream);
    assert_int_equal(ERR_peek_error(), 0);
    return result;
}

/* Nothing is left in OpenSSL's queue of errors. */
static enum rl_io read_cleanly(struct rl_stream *stream, char *bytes, size_t capacity, size_t *got)
{
    enum rl_io result = read_patiently(stream, bytes, capacity, got);
    assert_int_equal(ERR_peek_error(), 0);
    return result;
}

static void expect_echo(struct rl_stream *stream)
{
    size_t count;
    char bytes[16];
    assert_int_equal(rl_stream_write(stream, "ping", 4, &count), RL_IO_DONE);
    assert_int_equal(count, 4);
    assert_int_equal(read_cleanly(stream, bytes, sizeof bytes, &count), RL_IO_DONE);
    assert_int_equal(count, 4);
    assert_memory_equal(bytes, "ping", 4);
}

/* The node is reached under this name and answers. */
static void expect_welcome(struct node *node, const char *name, const char *said_name)
{
    start_node(node);
    SSL_CTX *tls = create_tls(ca_file, cert_file, key_file);
    struct rl_stream stream;
    if (connect_stream(&stream, node, tls, name) != RL_IO_DONE)
        fail_msg("%s", stream.error);
    expect_echo(&stream);
    rl_stream_close(&stream);
    stop_node(node);
    assert_string_equal(node->said_name, said_name);
    assert_true(node->ended_in_order);
    rl_tls_free(tls);
}

/* The handshake fails with these words, with a CA file or the system's certificates. */
static void expect_refusal(struct node *node, const char *ca, const char *name, const char *words)
{
    start_node(node);
    SSL_CTX *tls = create_tls(ca, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, node, tls, name), RL_IO_FAILED);
    assert_string_equal(stream.error, words);
    rl_stream_close(&stream);
    stop_node(node);
    rl_tls_free(tls);
}

/* ---- who the node is ----------------------------------------------------------------------------------- */

static void node_with_the_right_name_is_talked_to(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_welcome(&node, "node.example", "node.example");
}

static void tls_1_2_is_still_good(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .max_version = TLS1_2_VERSION};
    expect_welcome(&node, "node.example", "node.example");
}

static void wildcard_certificate_is_good_for_a_name_below(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_welcome(&node, "a.fleet.example", "a.fleet.example");
}

static void full_name_that_ends_with_a_dot_is_the_same_name(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_welcome(&node, "node.example.", "node.example");
}

static void numeric_address_in_the_certificate_is_good_and_not_said(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_welcome(&node, "127.0.0.1", "");
}

static void wrong_name_is_refused(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_refusal(&node, ca_file, "b.example", "certificate is for another name than b.example");
}

static void wrong_numeric_address_is_refused(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_refusal(&node, ca_file, "127.0.0.2", "certificate is for another name than 127.0.0.2");
}

static void self_signed_certificate_is_refused(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .identity = &self_signed_identity};
    expect_refusal(&node, NULL, "node.example",
                   "certificate verify failed: self-signed certificate: name its authority (tls_ca)");
    struct node with_ca = {.behaviour = ECHO, .identity = &self_signed_identity};
    expect_refusal(&with_ca, ca_file, "node.example",
                   "certificate verify failed: self-signed certificate: name its authority (tls_ca)");
}

static void unknown_authority_is_refused(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    expect_refusal(
        &node, NULL, "node.example",
        "certificate verify failed: unable to get local issuer certificate: name its authority (tls_ca)");
}

static void expired_certificate_is_refused(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .identity = &expired_identity};
    expect_refusal(&node, ca_file, "node.example",
                   "certificate verify failed: certificate has expired: renew it on the node");
}

/* OpenSSL takes an empty name for "check none", and one that starts with a dot for a whole domain. */
static void name_that_would_check_nothing_is_refused(void **state)
{
    (void)state;
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_address address;
    assert_true(rl_address_numeric(&address, "127.0.0.1", 1));
    const char *names[] = {"", ".", ".fleet.example"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct rl_stream stream;
        rl_stream_init(&stream);
        assert_false(rl_stream_open(&stream, &address, tls, names[i]));
        assert_int_equal(stream.fd, -1);
        assert_true(stream.error[0] != '\0');
    }
    rl_tls_free(tls);
}

/* ---- who the client is --------------------------------------------------------------------------------- */

static void client_certificate_is_shown_to_a_node_that_wants_it(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .wants_client_certificate = true};
    expect_welcome(&node, "node.example", "node.example");
}

/* In TLS 1.3 the client is through with the handshake before the node looks at its certificate. */
static void missing_client_certificate_is_told(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .wants_client_certificate = true};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_DONE);
    size_t got;
    char byte;
    assert_int_equal(read_cleanly(&stream, &byte, 1, &got), RL_IO_FAILED);
    assert_string_equal(stream.error, "the node wants a client certificate");
    rl_stream_close(&stream);
    stop_node(&node);
    assert_false(node.shook_hands);
    rl_tls_free(tls);
}

static void missing_client_certificate_is_guessed_in_tls_1_2(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .wants_client_certificate = true, .max_version = TLS1_2_VERSION};
    expect_refusal(&node, ca_file, "node.example",
                   "the node refused the TLS handshake; it may want a client certificate");
}

/* ---- what is no good node ------------------------------------------------------------------------------ */

static void node_without_tls_is_called_that(void **state)
{
    (void)state;
    struct node node = {.behaviour = PLAIN};
    expect_refusal(&node, ca_file, "node.example", "not a TLS server: write redis:// instead of rediss://");
}

static void node_that_hangs_up_is_told(void **state)
{
    (void)state;
    struct node node = {.behaviour = HANG_UP};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_FAILED);
    assert_true(strcmp(stream.error, "connection closed during the TLS handshake") == 0 ||
                strcmp(stream.error, "connection reset by peer") == 0);
    rl_stream_close(&stream);
    stop_node(&node);
    rl_tls_free(tls);
}

static void old_tls_is_refused(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO, .max_version = TLS1_1_VERSION};
    expect_refusal(&node, ca_file, "node.example", "the node has no TLS 1.2 or later");
}

static void node_that_never_answers_is_waited_for(void **state)
{
    (void)state;
    struct node node = {.behaviour = MUTE};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    rl_stream_init(&stream);
    assert_true(rl_stream_open(&stream, &node.address, tls, "node.example"));
    while (rl_stream_continue(&stream) == RL_IO_AGAIN && stream.wants == RL_WANT_WRITE)
        wait_for(&stream);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(rl_stream_continue(&stream), RL_IO_AGAIN);
        assert_int_equal(stream.wants, RL_WANT_READ);
        assert_true(stream.connecting);
    }
    rl_stream_abort(&stream);
    stop_node(&node);
    rl_tls_free(tls);
}

/* ---- bytes and endings --------------------------------------------------------------------------------- */

static void large_write_goes_on_from_a_buffer_that_moved(void **state)
{
    (void)state;
    struct node node = {.behaviour = COUNT};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_DONE);
    char *bytes = calloc(1, LARGE);
    assert_non_null(bytes);
    size_t written = write_until_again(&stream, bytes, LARGE);
    assert_true(written < LARGE);
    assert_int_equal(stream.wants, RL_WANT_WRITE);
    char *moved = calloc(1, LARGE);
    assert_non_null(moved);
    free(bytes);
    assert_int_equal(write(node.gate[1], "", 1), 1);
    while ((written += write_until_again(&stream, moved, LARGE - written)) < LARGE)
        wait_for(&stream);
    free(moved);
    rl_stream_close(&stream);
    stop_node(&node);
    assert_int_equal(node.received, LARGE);
    assert_true(node.ended_in_order);
    rl_tls_free(tls);
}

static void small_reads_get_all_of_a_record(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_DONE);
    size_t count;
    assert_int_equal(rl_stream_write(&stream, "abcdef", 6, &count), RL_IO_DONE);
    for (int i = 0; i < 6; i++) {
        char byte;
        assert_int_equal(read_cleanly(&stream, &byte, 1, &count), RL_IO_DONE);
        assert_int_equal(byte, 'a' + i);
    }
    rl_stream_close(&stream);
    stop_node(&node);
    rl_tls_free(tls);
}

static void abort_says_no_good_bye(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_DONE);
    expect_echo(&stream);
    rl_stream_abort(&stream);
    stop_node(&node);
    assert_true(node.shook_hands);
    assert_false(node.ended_in_order);
    rl_tls_free(tls);
}

static void writing_to_a_node_that_has_gone_raises_no_signal(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_DONE);
    assert_int_equal(shutdown(stream.fd, SHUT_WR), 0);
    size_t put;
    assert_int_equal(rl_stream_write(&stream, "ping", 4, &put), RL_IO_FAILED);
    assert_string_equal(stream.error, "connection closed by the peer");
    assert_int_equal(ERR_peek_error(), 0);
    rl_stream_close(&stream);
    stop_node(&node);
    assert_int_equal(sigpipe_count, 0);
    rl_tls_free(tls);
}

static void forgetting_in_a_child_leaves_the_parent_connected(void **state)
{
    (void)state;
    struct node node = {.behaviour = ECHO};
    start_node(&node);
    SSL_CTX *tls = create_tls(ca_file, NULL, NULL);
    struct rl_stream stream;
    assert_int_equal(connect_stream(&stream, &node, tls, "node.example"), RL_IO_DONE);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        rl_stream_forget(&stream);
        _exit(stream.fd == -1 && stream.ssl == NULL ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_echo(&stream);
    rl_stream_close(&stream);
    stop_node(&node);
    assert_true(node.ended_in_order);
    rl_tls_free(tls);
}

/* ---- settings ------------------------------------------------------------------------------------------ */

/* The settings are refused in words that start with these, then name the file, then give the reason. */
static void expect_bad_settings(const char *ca, const char *cert, const char *key, const char *option,
                                const char *file, const char *reason)
{
    char error[256], expected[256];
    assert_null(rl_tls_create(ca, cert, key, error, sizeof error));
    snprintf(expected, sizeof expected, "%s %s: %s", option, file, reason);
    assert_string_equal(error, expected);
    assert_int_equal(ERR_peek_error(), 0);
}

static void files_that_are_no_good_are_named(void **state)
{
    (void)state;
    char missing[128];
    snprintf(missing, sizeof missing, "%s/missing", folder);
    const char *no_pem = "nothing of the kind in it (PEM is expected)";
    expect_bad_settings(missing, NULL, NULL, "tls ca file", missing, "no such file or directory");
    expect_bad_settings(text_file, NULL, NULL, "tls ca file", text_file, no_pem);
    expect_bad_settings(ca_file, missing, key_file, "tls cert file", missing, "no such file or directory");
    expect_bad_settings(ca_file, text_file, key_file, "tls cert file", text_file, no_pem);
    expect_bad_settings(ca_file, cert_file, missing, "tls key file", missing, "no such file or directory");
    expect_bad_settings(ca_file, cert_file, text_file, "tls key file", text_file, no_pem);
    expect_bad_settings(ca_file, cert_file, locked_key_file, "tls key file", locked_key_file,
                        "it has a passphrase; give a key without one");
    expect_bad_settings(ca_file, cert_file, other_key_file, "tls key file", other_key_file,
                        "it does not belong to the certificate");
    expect_bad_settings(ca_file, ca_file, key_file, "tls key file", key_file,
                        "it does not belong to the certificate");
}

static void certificate_without_key_is_refused(void **state)
{
    (void)state;
    char error[256];
    assert_null(rl_tls_create(ca_file, cert_file, NULL, error, sizeof error));
    assert_string_equal(error, "a tls cert file and a tls key file go together; one is missing");
    assert_null(rl_tls_create(ca_file, NULL, key_file, error, sizeof error));
    assert_string_equal(error, "a tls cert file and a tls key file go together; one is missing");
    rl_tls_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_with_the_right_name_is_talked_to),
        cmocka_unit_test(tls_1_2_is_still_good),
        cmocka_unit_test(wildcard_certificate_is_good_for_a_name_below),
        cmocka_unit_test(full_name_that_ends_with_a_dot_is_the_same_name),
        cmocka_unit_test(numeric_address_in_the_certificate_is_good_and_not_said),
        cmocka_unit_test(wrong_name_is_refused),
        cmocka_unit_test(wrong_numeric_address_is_refused),
        cmocka_unit_test(self_signed_certificate_is_refused),
        cmocka_unit_test(unknown_authority_is_refused),
        cmocka_unit_test(expired_certificate_is_refused),
        cmocka_unit_test(name_that_would_check_nothing_is_refused),
        cmocka_unit_test(client_certificate_is_shown_to_a_node_that_wants_it),
        cmocka_unit_test(missing_client_certificate_is_told),
        cmocka_unit_test(missing_client_certificate_is_guessed_in_tls_1_2),
        cmocka_unit_test(node_without_tls_is_called_that),
        cmocka_unit_test(node_that_hangs_up_is_told),
        cmocka_unit_test(old_tls_is_refused),
        cmocka_unit_test(node_that_never_answers_is_waited_for),
        cmocka_unit_test(large_write_goes_on_from_a_buffer_that_moved),
        cmocka_unit_test(small_reads_get_all_of_a_record),
        cmocka_unit_test(abort_says_no_good_bye),
        cmocka_unit_test(writing_to_a_node_that_has_gone_raises_no_signal),
        cmocka_unit_test(forgetting_in_a_child_leaves_the_parent_connected),
        cmocka_unit_test(files_that_are_no_good_are_named),
        cmocka_unit_test(certificate_without_key_is_refused),
    };
    return cmocka_run_group_tests(tests, create_certificates, remove_certificates);
}
