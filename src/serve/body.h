/*
 * What the body of a request says, as values that were checked. It answers nothing but the refusal of a
 * value.
 */
#ifndef SERVE_BODY_H
#define SERVE_BODY_H

#include "serve/http.h"

#define SERVE_DEFAULT_TTL_MS 15000

/* Members of the body, or their default when they are missing. A text has at most `most` characters of up to
 * four bytes. False after having refused the request. */
bool serve_body_number(struct serve_exchange *exchange, const char *key, int64_t least, int64_t most,
                       int64_t missing, int64_t *number);
bool serve_body_text(struct serve_exchange *exchange, const char *key, size_t most, const char **text);

/* The member ttl_ms; missing: as much, or the most that is allowed if that is less. */
bool serve_body_ttl(struct serve_exchange *exchange, uint32_t missing, uint32_t *ttl_ms);

#endif
