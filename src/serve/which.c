/*
 * Which lock a request is about, and tokens; see which.h.
 */
#include "serve/which.h"

#include <stdio.h>
#include <string.h>

#include "serve/body.h"
#include "serve/json.h"
#include "serve/lock_name.h"

/* ---- kinds --------------------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    redlock_kind kind;
} kinds[] = {{"exclusive", REDLOCK_EXCLUSIVE},
             {"shared", REDLOCK_SHARED},
             {"semaphore", REDLOCK_SEMAPHORE},
             {"fair", REDLOCK_FAIR}};

const char *serve_kind_word(redlock_kind kind)
{
    return kind == REDLOCK_SHARED ? "shared" : kind == REDLOCK_SEMAPHORE ? "semaphore" : "exclusive";
}

static bool read_kind(struct serve_exchange *exchange, struct serve_text word, redlock_kind *kind)
{
    *kind = REDLOCK_EXCLUSIVE;
    if (word.bytes == NULL)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        *kind = kinds[i].kind;
        if (strlen(kinds[i].word) == word.length && memcmp(kinds[i].word, word.bytes, word.length) == 0)
            return true;
    }
    return serve_refuse(exchange, SERVE_INVALID, "kind is not exclusive, shared, semaphore or fair");
}

/* What does not go together. */
static bool check_kind(struct serve_exchange *exchange, const struct serve_which *which, bool has_permits)
{
    if (which->kind == REDLOCK_SEMAPHORE && !has_permits)
        return serve_refuse(exchange, SERVE_INVALID,
                            "permits is missing: say how many may hold the semaphore at once");
    if (which->kind != REDLOCK_SEMAPHORE && has_permits)
        return serve_refuse(exchange, SERVE_INVALID,
                            "permits is for a semaphore: leave it out, or ask for kind semaphore");
    if (which->also_count > 0 && (which->kind == REDLOCK_SHARED || which->kind == REDLOCK_SEMAPHORE))
        return serve_refuse(exchange, SERVE_INVALID,
                            "also is for exclusive locks: leave it out, or leave kind out");
    return true;
}

/* ---- names that are taken together --------------------------------------------------------------------- */

/* Linear in the names before it: there are at most 16. */
static bool is_twice(struct serve_text first, const struct serve_which *which, uint32_t number)
{
    bool twice = serve_text_equal(first, which->also[number]);

    for (uint32_t i = 0; i < number; i++)
        twice = twice || serve_text_equal(which->also[i], which->also[number]);
    return twice;
}

bool serve_which_check(struct serve_exchange *exchange, struct serve_text name,
                       const struct serve_which *which)
{
    char detail[200];
    size_t bytes = 0;

    for (uint32_t i = 0; i < which->also_count; i++) {
        if (!serve_name_check_also(exchange, which->also[i], i + 1))
            return false;
        bytes += which->also[i].length;
        if (is_twice(name, which, i)) {
            snprintf(detail, sizeof detail, "name %u of also is there twice: a lock has each name once",
                     i + 1);
            return serve_refuse(exchange, SERVE_INVALID, detail);
        }
    }
    if (bytes > SERVE_ALSO_BYTES_MAX)
        return serve_refuse(exchange, SERVE_INVALID,
                            "the names of also are longer than 4096 bytes together: use shorter ones");
    return true;
}

/* False when there are too many. */
static bool add_name(struct serve_which *which, struct serve_text name)
{
    if (which->also_count == SERVE_ALSO_MAX)
        return false;
    which->also[which->also_count++] = name;
    return true;
}

static bool refuse_also(struct serve_exchange *exchange)
{
    return serve_refuse(exchange, SERVE_INVALID,
                        "also is not a list of at most 15 names: take fewer locks together");
}

/* ---- reading ------------------------------------------------------------------------------------------- */

static bool read_also(struct serve_exchange *exchange, struct serve_which *which)
{
    json_t *list = json_object_get(exchange->body, "also"), *name;
    size_t index;

    if (list == NULL)
        return true;
    if (!json_is_array(list))
        return refuse_also(exchange);
    json_array_foreach(list, index, name)
    {
        struct serve_text text = {json_string_value(name), json_string_length(name)};
        if (text.bytes == NULL || !add_name(which, text))
            return refuse_also(exchange);
    }
    return true;
}

bool serve_which_of_body(struct serve_exchange *exchange, struct serve_which *which)
{
    const char *word = NULL;
    int64_t permits = 0;

    which->kind = REDLOCK_EXCLUSIVE;
    which->permits = which->also_count = 0;
    if (json_object_size(exchange->body) == 0)
        return true;
    if (!serve_body_text(exchange, "kind", 32, &word) ||
        !read_kind(exchange, (struct serve_text){word, word == NULL ? 0 : strlen(word)}, &which->kind) ||
        !serve_body_number(exchange, "permits", 1, REDLOCK_PERMITS_MAX, 0, &permits) ||
        !read_also(exchange, which))
        return false;
    which->permits = (uint32_t)permits;
    return check_kind(exchange, which, permits != 0) && serve_which_check(exchange, exchange->name, which);
}

static bool read_permits(struct serve_exchange *exchange, struct serve_text text, uint32_t *permits)
{
    *permits = 0;
    for (size_t i = 0; i < text.length && *permits <= REDLOCK_PERMITS_MAX; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            *permits = 0;
            break;
        }
        *permits = *permits * 10 + (uint32_t)(text.bytes[i] - '0');
    }
    if (text.bytes == NULL || (*permits >= 1 && *permits <= REDLOCK_PERMITS_MAX))
        return true;
    return serve_refuse(exchange, SERVE_INVALID, "permits is not a whole number from 1 to 1000");
}

bool serve_which_of_query(struct serve_exchange *exchange, struct serve_which *which)
{
    struct serve_text permits = serve_target_parameter(exchange->target, "permits");
    struct serve_text names = serve_target_parameter(exchange->target, "also");

    which->also_count = 0;
    if (!read_kind(exchange, serve_target_parameter(exchange->target, "kind"), &which->kind) ||
        !read_permits(exchange, permits, &which->permits))
        return false;
    while (names.length > 0) {
        const char *comma = memchr(names.bytes, ',', names.length);
        size_t length = comma == NULL ? names.length : (size_t)(comma - names.bytes);

        if (!add_name(which, (struct serve_text){names.bytes, length}))
            return refuse_also(exchange);
        length += comma != NULL;
        names = (struct serve_text){names.bytes + length, names.length - length};
    }
    return check_kind(exchange, which, permits.bytes != NULL) &&
           serve_which_check(exchange, exchange->name, which);
}

/* ---- saying -------------------------------------------------------------------------------------------- */

void serve_which_describe(json_t *object, redlock_lock *lock, redlock_kind kind, uint32_t permits)
{
    uint32_t names = redlock_lock_name_count(lock);

    json_object_set_new(object, "kind", json_string(serve_kind_word(kind)));
    if (kind == REDLOCK_SEMAPHORE) {
        json_object_set_new(object, "permits", json_integer(permits));
        json_object_set_new(object, "slot", json_integer(redlock_lock_slot(lock)));
    }
    if (names < 2)
        return;
    json_t *also = json_array();
    for (uint32_t i = 1; i < names; i++) {
        size_t length;
        const char *name = redlock_lock_name_at(lock, i, &length);
        json_array_append_new(also, serve_json_text(name, length));
    }
    json_object_set_new(object, "also", also);
}

/* ---- tokens -------------------------------------------------------------------------------------------- */

static char *write_part(char *to, const char *bytes, size_t length)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    int count = 0;

    for (size_t i = 0; i < length; i++) {
        bits = bits << 8 | (unsigned char)bytes[i];
        for (count += 8; count >= 6; count -= 6)
            *to++ = alphabet[bits >> (count - 6) & 63];
    }
    if (count > 0)
        *to++ = alphabet[bits << (6 - count) & 63];
    return to;
}

/* What a character of base64url stands for; -1 nothing. */
static int value_of(char digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return digit - 'A';
    if (digit >= 'a' && digit <= 'z')
        return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 52;
    return digit == '-' ? 62 : digit == '_' ? 63 : -1;
}

/* False when it is not base64url, empty, or longer than there is room for. */
static bool read_part(struct serve_text part, char *to, size_t room, size_t *used)
{
    uint32_t bits = 0;
    int count = 0;

    *used = 0;
    for (size_t i = 0; i < part.length; i++) {
        int value = value_of(part.bytes[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        count += 6;
        if (count < 8)
            continue;
        if (*used == room)
            return false;
        count -= 8;
        to[(*used)++] = (char)(bits >> count & 255);
    }
    /* What is over must be nothing, so that each token has one spelling. */
    return *used > 0 && count < 6 && (bits & ((1U << count) - 1)) == 0;
}

void serve_token_write(redlock_lock *lock, redlock_kind kind, uint32_t permits, char token[SERVE_TOKEN_SIZE])
{
    size_t length;
    const char *owner = redlock_lock_owner(lock, &length);
    uint32_t names = redlock_lock_name_count(lock);

    token = write_part(token, owner, length);
    if (kind == REDLOCK_SHARED)
        token = memcpy(token, ".s", 2), token += 2;
    else if (kind == REDLOCK_SEMAPHORE)
        token += snprintf(token, 8, ".p%u", permits % 10000);
    for (uint32_t i = 1; i < names; i++) {
        const char *name = redlock_lock_name_at(lock, i, &length);
        *token++ = '.';
        *token++ = 'n';
        token = write_part(token, name, length);
    }
    *token = '\0';
}

static bool read_token_permits(struct serve_text digits, uint32_t *permits)
{
    *permits = 0;
    if (digits.length == 0 || digits.length > 4 || digits.bytes[0] == '0')
        return false;
    for (size_t i = 0; i < digits.length; i++) {
        if (digits.bytes[i] < '0' || digits.bytes[i] > '9')
            return false;
        *permits = *permits * 10 + (uint32_t)(digits.bytes[i] - '0');
    }
    return *permits <= REDLOCK_PERMITS_MAX;
}

/* One part behind the owner value, without its dot. */
static bool read_token_part(struct serve_text part, struct serve_token *token, size_t *names_used)
{
    struct serve_which *which = &token->which;
    struct serve_text rest = {part.bytes + 1, part.length - 1};
    size_t used = 0;

    if (part.bytes[0] == 'n' && which->kind == REDLOCK_EXCLUSIVE && which->also_count < SERVE_ALSO_MAX) {
        char *room = token->names + *names_used;
        if (!read_part(rest, room, sizeof token->names - *names_used, &used))
            return false;
        *names_used += used;
        which->also[which->also_count++] = (struct serve_text){room, used};
        return true;
    }
    if (which->kind != REDLOCK_EXCLUSIVE || which->also_count > 0)
        return false;
    which->kind = part.bytes[0] == 's' ? REDLOCK_SHARED : REDLOCK_SEMAPHORE;
    return part.bytes[0] == 's' ? part.length == 1
                                : part.bytes[0] == 'p' && read_token_permits(rest, &which->permits);
}

bool serve_token_read(const char *text, size_t length, struct serve_token *token)
{
    const char *end = text + length, *dot = memchr(text, '.', length);
    struct serve_text first = {text, dot == NULL ? length : (size_t)(dot - text)};
    size_t names_used = 0;

    token->which.kind = REDLOCK_EXCLUSIVE;
    token->which.permits = token->which.also_count = 0;
    if (!read_part(first, token->owner, REDLOCK_OWNER_MAX, &token->owner_length))
        return false;
    token->owner[token->owner_length] = '\0';
    while (dot != NULL) {
        const char *start = dot + 1;
        dot = memchr(start, '.', (size_t)(end - start));
        struct serve_text part = {start, (size_t)((dot == NULL ? end : dot) - start)};
        if (part.length == 0 || !read_token_part(part, token, &names_used))
            return false;
    }
    return true;
}
