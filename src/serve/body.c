/*
 * What a body says, as values; see body.h.
 */
#include "serve/body.h"

#include <stdio.h>

bool serve_body_number(struct serve_exchange *exchange, const char *key, int64_t least, int64_t most,
                       int64_t missing, int64_t *number)
{
    json_t *value = json_object_get(exchange->body, key);
    char detail[160];

    if (value == NULL) {
        *number = missing;
        return true;
    }
    /* 15000.0 is a whole number too. */
    double real = json_is_number(value) ? json_number_value(value) : -1;
    bool within = json_is_number(value) && real >= (double)least && real <= (double)most;
    *number = within ? (int64_t)real : missing;
    if (within && (double)*number == real)
        return true;
    snprintf(detail, sizeof detail, "%s is not a whole number from %lld to %lld", key, (long long)least,
             (long long)most);
    return serve_refuse(exchange, SERVE_INVALID, detail);
}

/* How many characters a clean text has. */
static size_t count_characters(struct serve_text text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.length; i++)
        count += ((unsigned char)text.bytes[i] & 0xc0) != 0x80;
    return count;
}

bool serve_body_text(struct serve_exchange *exchange, const char *key, size_t most, const char **text)
{
    json_t *value = json_object_get(exchange->body, key);
    char detail[160];

    *text = json_string_value(value);
    if (value == NULL)
        return true;
    struct serve_text bytes = {*text, json_string_length(value)};
    if (*text != NULL && serve_text_is_clean(bytes) && count_characters(bytes) <= most)
        return true;
    snprintf(detail, sizeof detail, "%s is not a text of at most %zu characters without control characters",
             key, most);
    return serve_refuse(exchange, SERVE_INVALID, detail);
}

bool serve_body_ttl(struct serve_exchange *exchange, uint32_t missing, uint32_t *ttl_ms)
{
    uint32_t most = exchange->server->settings->max_ttl_ms;
    int64_t number = 0;

    if (!serve_body_number(exchange, "ttl_ms", REDLOCK_TTL_MIN_MS, most, missing < most ? missing : most,
                           &number))
        return false;
    *ttl_ms = (uint32_t)number;
    return true;
}
