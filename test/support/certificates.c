/*
 * Makes throw-away TLS certificates with OpenSSL's API; see certificates.h.
 */
#include "support/certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* A certificate and its private key. */
struct identity {
    X509 *certificate;
    EVP_PKEY *key;
};

static FILE *create_file(const char *folder, const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, "w");
}

static bool write_certificate(const char *folder, const char *name, X509 *certificate)
{
    FILE *file = create_file(folder, name);
    bool good = file != NULL && PEM_write_X509(file, certificate) == 1;

    if (file != NULL)
        good = fclose(file) == 0 && good;
    return good;
}

static bool write_key(const char *folder, const char *name, EVP_PKEY *key)
{
    FILE *file = create_file(folder, name);
    bool good = file != NULL && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1;

    if (file != NULL)
        good = fclose(file) == 0 && good;
    return good;
}

static bool add_extension(X509 *certificate, int nid, const char *value)
{
    X509V3_CTX context;

    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool good = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return good;
}

/* issuer NULL: it signs itself and may sign others. */
static bool make_identity(struct identity *made, const char *common_name, const char *alternative_names,
                          const struct identity *issuer)
{
    static long serial = 1;
    const struct identity *signer = issuer != NULL ? issuer : made;

    made->key = EVP_EC_gen("P-256");
    made->certificate = X509_new();
    if (made->key == NULL || made->certificate == NULL)
        return false;
    X509_set_version(made->certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made->certificate), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made->certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made->certificate), 86400);
    X509_set_pubkey(made->certificate, made->key);

    X509_NAME *name = X509_get_subject_name(made->certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)common_name, -1, -1, 0);
    X509_set_issuer_name(made->certificate, X509_get_subject_name(signer->certificate));
    if (issuer == NULL && !add_extension(made->certificate, NID_basic_constraints, "critical,CA:TRUE"))
        return false;
    if (alternative_names != NULL &&
        !add_extension(made->certificate, NID_subject_alt_name, alternative_names))
        return false;
    return X509_sign(made->certificate, signer->key, EVP_sha256()) > 0;
}

static void free_identity(struct identity *identity)
{
    X509_free(identity->certificate);
    EVP_PKEY_free(identity->key);
}

/* Makes name.pem and name.key signed by ca. */
static bool issue(const char *folder, const char *name, const char *alternative_names,
                  const struct identity *ca)
{
    struct identity made = {0};
    char file[64];

    bool good = make_identity(&made, name, alternative_names, ca);
    snprintf(file, sizeof(file), "%s.pem", name);
    good = good && write_certificate(folder, file, made.certificate);
    snprintf(file, sizeof(file), "%s.key", name);
    good = good && write_key(folder, file, made.key);
    free_identity(&made);
    return good;
}

bool certificates_write(const char *folder)
{
    struct identity ca = {0};
    struct identity stranger = {0};

    bool good = make_identity(&ca, "redlock test ca", NULL, NULL) &&
                make_identity(&stranger, "stranger ca", NULL, NULL) &&
                write_certificate(folder, "ca.pem", ca.certificate) &&
                write_certificate(folder, "stranger.pem", stranger.certificate) &&
                issue(folder, "node", "IP:127.0.0.1,DNS:localhost", &ca) &&
                issue(folder, "elsewhere", "DNS:elsewhere.example", &ca) &&
                issue(folder, "client", NULL, &ca);
    free_identity(&ca);
    free_identity(&stranger);
    return good;
}
