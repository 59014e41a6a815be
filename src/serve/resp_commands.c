/*
 * The commands of the RESP port; see resp_commands.h. Only what lock libraries send is understood; everything
 * else is refused with a sentence, and nothing is ever passed on to a node.
 */
#include "serve/resp_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/lock_name.h"
#include "serve/resp_locks.h"
#include "serve/resp_request.h"
#include "serve/resp_scripts.h"
#include "serve/tag.h"

#define ONLY_LOCKS "ERR redlock: this port serves locks only: "

struct command {
    const char *name;
    size_t least, most; /* words, the name included */
    enum serve_role role;
    void (*handle)(const struct serve_asked *asked);
};

static void refuse(const struct serve_asked *asked, const char *words)
{
    serve_resp_error(asked->connection, words);
}

/* ---- names, values, times ------------------------------------------------------------------------------ */

static bool check_name(const struct serve_asked *asked, struct serve_text name)
{
    const struct serve_server *server = asked->connection->server;
    const char *prefix = server->settings->key_prefix;

    if (name.length == 0 || name.length + (prefix == NULL ? 0 : strlen(prefix)) > REDLOCK_NAME_MAX) {
        refuse(asked, "ERR redlock: the name is empty or longer than 1024 bytes");
        return false;
    }
    if (serve_name_is_reserved(server, name)) {
        refuse(asked, "ERR redlock: this name is reserved");
        return false;
    }
    if (serve_principal_may_name(asked->connection->principal, name.bytes, name.length))
        return true;
    refuse(asked, "NOPERM redlock: the prefix of these credentials does not cover this name");
    return false;
}

static bool check_value(const struct serve_asked *asked, struct serve_text value)
{
    if (value.length == 0 || value.length > REDLOCK_TAG_MAX)
        refuse(asked, "ERR redlock: the value is empty or longer than 128 bytes");
    else if (serve_tag_is_of_key(value.bytes, value.length))
        refuse(asked, "ERR redlock: values that begin with " SERVE_TAG_MARK " are reserved");
    else
        return true;
    return false;
}

static bool read_ms(const struct serve_asked *asked, struct serve_text text, uint64_t unit_ms, uint64_t *ms)
{
    uint64_t most = asked->connection->server->settings->max_ttl_ms;
    char words[160];

    if (serve_text_number(text, UINT64_MAX / 2000, ms)) {
        *ms *= unit_ms;
        if (*ms >= REDLOCK_TTL_MIN_MS && *ms <= most)
            return true;
    }
    snprintf(words, sizeof words,
             "ERR redlock: the lock's time has to be from %d to %llu ms; max_ttl is the longest",
             REDLOCK_TTL_MIN_MS, (unsigned long long)most);
    refuse(asked, words);
    return false;
}

/* ---- greeting ------------------------------------------------------------------------------------------ */

static bool log_in(const struct serve_asked *asked, struct serve_text password)
{
    const struct serve_principal *principal =
        serve_access_by_token(&asked->connection->server->access, password);

    if (principal != NULL) {
        asked->connection->principal = principal;
        return true;
    }
    refuse(asked, "WRONGPASS redlock: the password is not a known token");
    return false;
}

static void handle_auth(const struct serve_asked *asked)
{
    if (log_in(asked, asked->words[asked->count - 1]))
        serve_resp_status(asked->connection, "OK");
}

static void write_greeting(const struct serve_asked *asked)
{
    struct evbuffer *output = bufferevent_get_output(asked->connection->buffer);
    bool three = asked->client->version == 3;

    evbuffer_add_printf(
        output,
        "%s\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:%d\r\n"
        "$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        "$7\r\nmodules\r\n*0\r\n",
        three ? "%7" : "*14", asked->client->version);
}

static void handle_hello(const struct serve_asked *asked)
{
    uint64_t version = (uint64_t)asked->client->version;

    if (asked->count > 1 && (!serve_text_number(asked->words[1], 3, &version) || version < 2)) {
        refuse(asked, "NOPROTO unsupported protocol version");
        return;
    }
    for (size_t i = 2; i < asked->count; i++) {
        if (serve_text_is(asked->words[i], "auth") && i + 2 < asked->count) {
            if (!log_in(asked, asked->words[i + 2]))
                return;
            i += 2;
        } else if (serve_text_is(asked->words[i], "setname") && i + 1 < asked->count)
            i++;
    }
    asked->client->version = (int)version;
    write_greeting(asked);
}

static void handle_ping(const struct serve_asked *asked)
{
    if (asked->count == 2)
        serve_resp_text(asked->connection, asked->words[1].bytes, asked->words[1].length);
    else
        serve_resp_status(asked->connection, "PONG");
}

static void handle_quit(const struct serve_asked *asked)
{
    serve_resp_status(asked->connection, "OK");
    serve_connection_finish(asked->connection);
}

static void handle_client(const struct serve_asked *asked)
{
    struct serve_text what = asked->words[1];

    if (serve_text_is(what, "setname") || serve_text_is(what, "setinfo") || serve_text_is(what, "no-evict") ||
        serve_text_is(what, "no-touch"))
        serve_resp_status(asked->connection, "OK");
    else if (serve_text_is(what, "getname"))
        serve_resp_nil(asked->connection);
    else if (serve_text_is(what, "id"))
        serve_resp_number(asked->connection, 1);
    else
        refuse(asked, ONLY_LOCKS "this form of CLIENT is not known");
}

static void handle_select(const struct serve_asked *asked)
{
    if (serve_text_is(asked->words[1], "0"))
        serve_resp_status(asked->connection, "OK");
    else
        refuse(asked, ONLY_LOCKS "there is only database 0");
}

static void handle_info(const struct serve_asked *asked)
{
    static const char text[] =
        "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nredlock_version:" REDLOCK_VERSION
        "\r\n# Persistence\r\nloading:0\r\n# Replication\r\nrole:master\r\n";

    serve_resp_text(asked->connection, text, sizeof text - 1);
}

/* ---- locks --------------------------------------------------------------------------------------------- */

/* SET name value NX PX ms, the options in any order. */
static void handle_set(const struct serve_asked *asked)
{
    struct serve_resp_wish wish = {.action = SERVE_TAKE,
                                   .form = SERVE_FORM_OK_OR_NIL,
                                   .name = asked->words[1],
                                   .value = asked->words[2]};
    bool if_free = false;

    for (size_t i = 3; i < asked->count; i++) {
        bool ms = serve_text_is(asked->words[i], "px"), s = serve_text_is(asked->words[i], "ex");
        if (serve_text_is(asked->words[i], "nx"))
            if_free = true;
        else if ((ms || s) && i + 1 < asked->count) {
            if (!read_ms(asked, asked->words[++i], ms ? 1 : 1000, &wish.ms))
                return;
        } else {
            refuse(asked, ONLY_LOCKS "write SET name value NX PX milliseconds");
            return;
        }
    }
    if (!if_free || wish.ms == 0)
        refuse(asked, ONLY_LOCKS "a lock needs NX, and a time to live with PX or EX");
    else if (check_name(asked, wish.name) && check_value(asked, wish.value))
        serve_resp_carry_out(asked->connection, &wish);
}

static void look(const struct serve_asked *asked, enum serve_resp_form form, bool seconds)
{
    struct serve_resp_wish wish = {.action = SERVE_LOOK,
                                   .form = form,
                                   .name = asked->words[1],
                                   .seconds = seconds,
                                   .otherwise = -2,
                                   .when_free = -2};

    if (check_name(asked, wish.name))
        serve_resp_carry_out(asked->connection, &wish);
}

static void handle_get(const struct serve_asked *asked)
{
    look(asked, SERVE_FORM_VALUE, false);
}

static void handle_exists(const struct serve_asked *asked)
{
    look(asked, SERVE_FORM_NUMBER, false);
}

static void handle_pttl(const struct serve_asked *asked)
{
    look(asked, SERVE_FORM_LEFT, false);
}

static void handle_ttl(const struct serve_asked *asked)
{
    look(asked, SERVE_FORM_LEFT, true);
}

static void release_if_equal(const struct serve_asked *asked, struct serve_text name, struct serve_text value)
{
    struct serve_resp_wish wish = {.action = SERVE_RELEASE, .name = name, .value = value};

    if (check_name(asked, name) && check_value(asked, value))
        serve_resp_carry_out(asked->connection, &wish);
}

/* DELIFEQ name value, as Valkey 9 has it. */
static void handle_delifeq(const struct serve_asked *asked)
{
    release_if_equal(asked, asked->words[1], asked->words[2]);
}

/* DELEX name IFEQ value, as Redis 8.4 has it. */
static void handle_delex(const struct serve_asked *asked)
{
    if (serve_text_is(asked->words[2], "ifeq"))
        release_if_equal(asked, asked->words[1], asked->words[3]);
    else
        refuse(asked, ONLY_LOCKS "write DELEX name IFEQ value");
}

static void handle_del(const struct serve_asked *asked)
{
    refuse(asked,
           ONLY_LOCKS "DEL does not say whose lock it is; use the compare-and-delete script of your library");
}

/* ---- scripts ------------------------------------------------------------------------------------------- */

/* Which of the values behind the key are what, by the meaning of the script. */
static bool read_script_wish(const struct serve_asked *asked, const struct serve_script *script,
                             const struct serve_text *values, struct serve_resp_wish *wish)
{
    uint64_t same = 0;

    switch (script->meaning) {
    case SERVE_MEANS_RELEASE:
    case SERVE_MEANS_RELEASE_OR_GONE:
        wish->action = SERVE_RELEASE;
        wish->when_free = script->meaning == SERVE_MEANS_RELEASE_OR_GONE ? -1 : 0;
        return true;
    case SERVE_MEANS_LEFT:
    case SERVE_MEANS_LEFT_OR_MINUS_3:
        wish->action = SERVE_LOOK;
        wish->form = SERVE_FORM_LEFT;
        wish->otherwise = wish->when_free = script->meaning == SERVE_MEANS_LEFT ? 0 : -3;
        return true;
    case SERVE_MEANS_OBTAIN:
        wish->action = SERVE_EXTEND_OR_TAKE;
        wish->form = SERVE_FORM_OK_OR_NIL;
        if (!serve_text_number(values[1], values[0].length, &same) || same == 0) {
            refuse(asked, "ERR redlock: the length of the random part is not one");
            return false;
        }
        wish->same_bytes = (size_t)same;
        return read_ms(asked, values[2], 1, &wish->ms);
    case SERVE_MEANS_LOCK:
        wish->action = serve_text_is(values[2], "yes") ? SERVE_EXTEND_OR_TAKE : SERVE_EXTEND;
        wish->form = SERVE_FORM_OK_OR_NIL;
        return read_ms(asked, values[1], 1, &wish->ms);
    case SERVE_MEANS_TAKE:
        wish->action = SERVE_TAKE;
        return read_ms(asked, values[1], 1, &wish->ms);
    case SERVE_MEANS_EXTEND_OR_TAKE:
        wish->action = SERVE_EXTEND_OR_TAKE;
        return read_ms(asked, values[1], 1, &wish->ms);
    case SERVE_MEANS_EXTEND_BY:
        wish->adds = serve_text_is(values[2], "0");
        /* fall through */
    case SERVE_MEANS_EXTEND:
        wish->action = SERVE_EXTEND;
        return read_ms(asked, values[1], 1, &wish->ms);
    }
    return false;
}

static void run_script(const struct serve_asked *asked, const struct serve_script *script)
{
    struct serve_resp_wish wish = {.form = SERVE_FORM_NUMBER};
    uint64_t keys = 0;

    if (!serve_text_number(asked->words[2], SERVE_WORDS_MAX, &keys) || keys != 1) {
        refuse(asked, "ERR redlock: a script is served for one key at a time; lock several names one by one");
        return;
    }
    if (asked->count != 4 + script->values) {
        refuse(asked, "ERR redlock: the script is known, but not with so many arguments");
        return;
    }
    wish.name = asked->words[3];
    wish.value = asked->words[4];
    if (check_name(asked, wish.name) && check_value(asked, wish.value) &&
        read_script_wish(asked, script, asked->words + 4, &wish))
        serve_resp_carry_out(asked->connection, &wish);
}

static void refuse_script(const struct serve_asked *asked)
{
    refuse(
        asked,
        "ERR redlock: this script is not one of a known lock library, and is not run here; use SET NX PX and "
        "the compare-and-delete script of redis-py, redlock-py, pottery, node-redlock, redsync, bsm/redislock or rslock");
}

static void handle_eval(const struct serve_asked *asked)
{
    char digest[41];

    serve_script_digest(asked->words[1], digest);
    const struct serve_script *script = serve_script_find((struct serve_text){digest, 40});
    if (script == NULL)
        refuse_script(asked);
    else
        run_script(asked, script);
}

/* A library that gets NOSCRIPT sends the text, and is then told more. */
static void handle_evalsha(const struct serve_asked *asked)
{
    const struct serve_script *script = serve_script_find(asked->words[1]);

    if (script == NULL)
        refuse(asked, "NOSCRIPT redlock: this is not the script of a known lock library. Please use EVAL.");
    else
        run_script(asked, script);
}

static void handle_script(const struct serve_asked *asked)
{
    struct evbuffer *output = bufferevent_get_output(asked->connection->buffer);
    char digest[41];

    if (serve_text_is(asked->words[1], "load") && asked->count == 3) {
        serve_script_digest(asked->words[2], digest);
        if (serve_script_find((struct serve_text){digest, 40}) == NULL)
            refuse_script(asked);
        else
            serve_resp_text(asked->connection, digest, 40);
    } else if (serve_text_is(asked->words[1], "exists")) {
        evbuffer_add_printf(output, "*%zu\r\n", asked->count - 2);
        for (size_t i = 2; i < asked->count; i++)
            serve_resp_number(asked->connection, serve_script_find(asked->words[i]) != NULL);
    } else
        refuse(asked, ONLY_LOCKS "of SCRIPT there are LOAD and EXISTS");
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static const struct command commands[] = {
    {"ping", 1, 2, SERVE_NOBODY, handle_ping},
    {"hello", 1, 8, SERVE_NOBODY, handle_hello},
    {"auth", 2, 3, SERVE_NOBODY, handle_auth},
    {"quit", 1, 1, SERVE_NOBODY, handle_quit},
    {"client", 2, 8, SERVE_NOBODY, handle_client},
    {"select", 2, 2, SERVE_NOBODY, handle_select},
    {"info", 1, 4, SERVE_READER, handle_info},
    {"get", 2, 2, SERVE_READER, handle_get},
    {"exists", 2, 2, SERVE_READER, handle_exists},
    {"ttl", 2, 2, SERVE_READER, handle_ttl},
    {"pttl", 2, 2, SERVE_READER, handle_pttl},
    {"set", 3, 8, SERVE_LOCKER, handle_set},
    {"del", 2, SERVE_WORDS_MAX, SERVE_LOCKER, handle_del},
    {"delifeq", 3, 3, SERVE_LOCKER, handle_delifeq},
    {"delex", 4, 4, SERVE_LOCKER, handle_delex},
    {"eval", 4, SERVE_WORDS_MAX, SERVE_LOCKER, handle_eval},
    {"evalsha", 4, SERVE_WORDS_MAX, SERVE_LOCKER, handle_evalsha},
    {"script", 3, SERVE_WORDS_MAX, SERVE_LOCKER, handle_script},
};

static const struct command *find_command(struct serve_text name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (serve_text_is(name, commands[i].name))
            return &commands[i];
    return NULL;
}

void serve_resp_handle(const struct serve_asked *asked)
{
    const struct command *command = find_command(asked->words[0]);
    const struct serve_principal *principal = asked->connection->principal;

    asked->connection->server->counts.resp_commands++;
    if (command == NULL)
        refuse(asked, ONLY_LOCKS "this command is not known");
    else if (asked->count < command->least || asked->count > command->most)
        refuse(asked, "ERR wrong number of arguments for this command");
    else if (command->role != SERVE_NOBODY && principal == NULL)
        refuse(asked, "NOAUTH Authentication required.");
    else if (command->role != SERVE_NOBODY && principal->role < command->role)
        refuse(asked, "NOPERM redlock: the role of these credentials does not allow it");
    else if (asked->connection->server->stopping) {
        refuse(asked, "ERR redlock: this instance is stopping; come again");
        serve_connection_finish(asked->connection);
    } else
        command->handle(asked);
}
