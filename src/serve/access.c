/*
 * Access; see access.h. Tokens are random and long, so that a plain SHA-256 of one reveals nothing about it.
 */
#include "serve/access.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#define WORDS_MAX 6

struct line {
    char *words[WORDS_MAX];
    size_t count;
};

static bool read_role(const char *word, enum serve_role *role)
{
    static const char *const names[] = {"read", "lock", "admin"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], word) == 0) {
            *role = (enum serve_role)(SERVE_READER + i);
            return true;
        }
    return false;
}

static bool read_digest(const char *word, unsigned char digest[32])
{
    size_t length = 0;

    return strlen(word) == 64 && OPENSSL_hexstr2buf_ex(digest, 32, &length, word, '\0') == 1 && length == 32;
}

static const char *fill_principal(struct serve_principal *principal, const char *name, const char *role,
                                  const char *prefix)
{
    if (strlen(name) >= sizeof principal->name)
        return "the name is longer than 64 bytes";
    if (!read_role(role, &principal->role))
        return "the role is not read, lock or admin";
    if (strlen(prefix) >= sizeof principal->prefix)
        return "the prefix is longer than 256 bytes";
    strcpy(principal->name, name);
    strcpy(principal->prefix, prefix);
    return NULL;
}

/* NULL, or what is wrong with the line. */
static const char *read_grant(const struct line *line, struct serve_grant *grant)
{
    bool token = strcmp(line->words[0], "token") == 0;
    size_t name = token ? 2 : 1;

    if (token)
        grant->credential = SERVE_TOKEN;
    else if (strcmp(line->words[0], "user") == 0)
        grant->credential = SERVE_USER;
    else if (strcmp(line->words[0], "cert") == 0)
        grant->credential = SERVE_CERTIFICATE;
    else
        return "a line begins with token, user or cert";
    if (line->count < name + 2 || line->count > name + 3)
        return token ? "it is not \"token SHA256 NAME ROLE [PREFIX]\""
                     : "it is not \"user|cert NAME ROLE [PREFIX]\"";
    if (token && !read_digest(line->words[1], grant->digest))
        return "the second word is not the SHA-256 of a token, 64 hexadecimal digits";
    return fill_principal(&grant->principal, line->words[name], line->words[name + 1],
                          line->count == name + 3 ? line->words[name + 2] : "");
}

static void split_words(char *text, struct line *line)
{
    char *rest = NULL;

    text[strcspn(text, "#")] = '\0';
    line->count = 0;
    for (char *word = strtok_r(text, " \t\r", &rest); word != NULL && line->count < WORDS_MAX;
         word = strtok_r(NULL, " \t\r", &rest))
        line->words[line->count++] = word;
}

static int add_line(struct serve_access *access, char *text, char problem[200])
{
    struct line line;
    struct serve_grant *more;

    split_words(text, &line);
    if (line.count == 0)
        return 0;
    more = realloc(access->grants, (access->count + 1) * sizeof *more);
    if (more == NULL)
        return -1;
    access->grants = more;
    memset(&more[access->count], 0, sizeof *more);
    const char *words = read_grant(&line, &more[access->count]);
    if (words == NULL) {
        access->count++;
        return 0;
    }
    snprintf(problem, 200, "%s", words);
    return 1;
}

int serve_access_read(const char *bytes, size_t length, struct serve_access *access, char problem[200])
{
    char *copy = strndup(bytes, length), *rest = copy;
    int status = copy == NULL ? -1 : 0;

    problem[0] = '\0';
    for (int number = 1; status == 0 && rest != NULL; number++) {
        char *text = strsep(&rest, "\n");
        status = add_line(access, text, problem);
        if (status > 0)
            status = number;
    }
    free(copy);
    return status;
}

void serve_access_free(struct serve_access *access)
{
    free(access->grants);
    *access = (struct serve_access){0};
}

const struct serve_principal *serve_access_by_token(const struct serve_access *access,
                                                    struct serve_text token)
{
    const struct serve_principal *found = NULL;
    unsigned char digest[32];

    SHA256((const unsigned char *)token.bytes, token.length, digest);
    for (size_t i = 0; i < access->count; i++)
        if (access->grants[i].credential == SERVE_TOKEN &&
            CRYPTO_memcmp(access->grants[i].digest, digest, sizeof digest) == 0)
            found = &access->grants[i].principal;
    return found;
}

const struct serve_principal *serve_access_by_name(const struct serve_access *access,
                                                   enum serve_credential credential, const char *name)
{
    for (size_t i = 0; i < access->count; i++)
        if (access->grants[i].credential == credential && strcmp(access->grants[i].principal.name, name) == 0)
            return &access->grants[i].principal;
    return NULL;
}

bool serve_access_has(const struct serve_access *access, enum serve_credential credential)
{
    for (size_t i = 0; i < access->count; i++)
        if (access->grants[i].credential == credential)
            return true;
    return false;
}

bool serve_principal_may_name(const struct serve_principal *principal, const char *name, size_t length)
{
    size_t prefix = strlen(principal->prefix);

    return length >= prefix && memcmp(principal->prefix, name, prefix) == 0;
}
