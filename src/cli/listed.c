/*
 * Words, columns and JSON of a lock; see listed.h.
 */
#include "cli/listed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/text.h"

void cli_listed_name(const char *name, size_t length, char *text, size_t size)
{
    char copy[REDLOCK_NAME_MAX + 1];

    if (length > REDLOCK_NAME_MAX)
        length = REDLOCK_NAME_MAX;
    memcpy(copy, name, length);
    copy[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if (copy[i] == '\0')
            copy[i] = '\1'; /* no end of a text either */
    cli_text_clean(copy, text, size);
}

static json_t *hex_string(const char *bytes, size_t length)
{
    char *hex = malloc(2 * length + 1);
    json_t *string;

    if (hex == NULL)
        return json_null();
    for (size_t i = 0; i < length; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)bytes[i]);
    string = json_string(hex);
    free(hex);
    return string;
}

void cli_listed_add_name(json_t *object, const char *name, size_t length)
{
    char clean[REDLOCK_NAME_MAX + 1];

    cli_listed_name(name, length, clean, sizeof clean);
    json_object_set_new(object, "name", json_string(clean));
    if (strlen(clean) != length || memcmp(clean, name, length) != 0)
        json_object_set_new(object, "name_hex", hex_string(name, length));
}

static const char *kind_word(const redlock_listed *lock)
{
    if (lock->foreign)
        return "foreign";
    return lock->kind == REDLOCK_SHARED      ? "shared"
           : lock->kind == REDLOCK_SEMAPHORE ? "semaphore"
                                             : "exclusive";
}

json_t *cli_listed_json(const redlock_listed *lock)
{
    json_t *object = json_object();

    cli_listed_add_name(object, lock->name, lock->name_length);
    json_object_set_new(object, "kind", json_string(kind_word(lock)));
    if (lock->holder.permits > 0) {
        json_object_set_new(object, "slot", json_integer(lock->holder.slot));
        json_object_set_new(object, "slots", json_integer(lock->holder.permits));
    }
    json_object_set_new(object, "holder", cli_output_holder(&lock->holder));
    json_object_set_new(object, "ttl_left_ms",
                        lock->ttl_left_ms < 0 ? json_null() : json_integer(lock->ttl_left_ms));
    json_object_set_new(object, "fence",
                        lock->fence == 0 ? json_null() : json_integer((json_int_t)lock->fence));
    json_object_set_new(object, "votes", json_integer(lock->votes));
    json_object_set_new(object, "nodes", json_integer(lock->node_count));
    json_object_set_new(object, "quorum", json_integer(lock->quorum));
    json_object_set_new(object, "waiting", json_integer(lock->waiting));
    return object;
}

struct cli_span cli_listed_kind(const redlock_listed *lock)
{
    struct cli_span words = {""};

    if (lock->kind == REDLOCK_SHARED)
        snprintf(words.text, sizeof words.text, ", shared");
    else if (lock->holder.permits > 0)
        snprintf(words.text, sizeof words.text, ", slot %u of %u", lock->holder.slot, lock->holder.permits);
    return words;
}

void cli_listed_holder(const redlock_holder *holder, char *text, size_t size)
{
    char raw[400], clean[400];
    int used = snprintf(raw, sizeof raw, "%s%s%s", holder->user, holder->user[0] != '\0' ? "@" : "",
                        holder->host[0] != '\0' ? holder->host : "another program");

    if (holder->pid != 0)
        used += snprintf(raw + used, sizeof raw - (size_t)used, " pid %u", holder->pid);
    if (holder->why[0] != '\0')
        used += snprintf(raw + used, sizeof raw - (size_t)used, ", \"%s\"", holder->why);
    snprintf(raw + used, sizeof raw - (size_t)used, ", id %s%s", holder->id,
             holder->broken ? ", broken by an operator" : "");
    cli_text_clean(raw, clean, sizeof clean);
    snprintf(text, size, "%s", clean);
}
