/*
 * Which names of locks a request may use; see lock_name.h.
 */
#include "serve/lock_name.h"

#include <stdio.h>
#include <string.h>

/* What counts for the library is the key, with its prefix. */
bool serve_name_is_reserved(const struct serve_server *server, struct serve_text name)
{
    static const char *const reserved[] = {
        "redlock-guard:", "redlock-fence:", "redlock-line:", "redlock-mark:", SERVE_KEY_PREFIX};
    const char *prefix = server->settings->key_prefix == NULL ? "" : server->settings->key_prefix;
    char key[64];

    snprintf(key, sizeof key, "%.40s%.*s", prefix, (int)(name.length < 20 ? name.length : 20), name.bytes);
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        if (strncmp(key, reserved[i], strlen(reserved[i])) == 0)
            return true;
    return serve_name_is_record(name.bytes, name.length);
}

/* What is wrong with a name, and which problem that is; NULL: nothing. */
static const char *name_problem(const struct serve_exchange *exchange, struct serve_text name,
                                enum serve_problem *problem)
{
    const char *prefix = exchange->server->settings->key_prefix;

    *problem = SERVE_INVALID;
    if (name.length == 0)
        return "the name of the lock is empty";
    if (name.length + (prefix == NULL ? 0 : strlen(prefix)) > REDLOCK_NAME_MAX)
        return "the name of the lock is longer than 1024 bytes, its prefix included";
    if (!serve_text_is_clean(name))
        return "the name of the lock is not UTF-8 without control characters";
    if (serve_name_is_reserved(exchange->server, name))
        return "names that begin with redlock-guard:, -fence:, -line:, -mark: or -key: are reserved";
    *problem = SERVE_FORBIDDEN;
    if (!serve_principal_may_name(exchange->principal, name.bytes, name.length))
        return "the prefix of these credentials does not cover this name";
    return NULL;
}

bool serve_name_check(struct serve_exchange *exchange, struct serve_text name)
{
    enum serve_problem problem;
    const char *detail = name_problem(exchange, name, &problem);

    return detail == NULL || serve_refuse(exchange, problem, detail);
}

bool serve_name_check_also(struct serve_exchange *exchange, struct serve_text name, unsigned number)
{
    enum serve_problem problem;
    const char *detail = name_problem(exchange, name, &problem);
    char words[200];

    if (detail == NULL)
        return true;
    snprintf(words, sizeof words, "name %u of also: %s", number, detail);
    return serve_refuse(exchange, problem, words);
}

bool serve_name_is_record(const char *name, size_t length)
{
    size_t prefix = sizeof SERVE_KEY_PREFIX - 1;

    return length > prefix && memcmp(name, SERVE_KEY_PREFIX, prefix) == 0;
}
