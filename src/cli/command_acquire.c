/*
 * redlock acquire: takes a lock, prints the lease and leaves it at the nodes, for scripts that extend and
 * release it themselves. Nothing renews it.
 */
#include <stdio.h>
#include <unistd.h>

#include "cli/acquiring.h"
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/legacy.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/suggest.h"
#include "cli/text.h"
#include "cli/waiters.h"

/* Owner values are bytes, JSON is text: one that is no UTF-8 (the name of a user may not be) is shown as well
 * as it can be, and exactly in hexadecimal digits beside it. */
static void set_owner(json_t *lease, const char *owner)
{
    char hex[2 * REDLOCK_OWNER_MAX + 1] = "";

    if (json_object_set_new(lease, "owner", json_string(owner)) == 0)
        return;
    for (size_t i = 0; i < REDLOCK_OWNER_MAX && owner[i] != '\0'; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)owner[i]);
    json_object_set_new(lease, "owner", cli_output_string(owner));
    json_object_set_new(lease, "owner_hex", json_string(hex));
}

/* Prints the lease; false when stdout did not take it. */
static bool print_lease(const struct cli_options *options, const redlock_lock *lock, uint32_t ttl_ms,
                        long long validity)
{
    const char *name = options->words[0];
    unsigned long long fence = redlock_lock_fence(lock);
    int32_t slot = redlock_lock_slot(lock);
    char clean[REDLOCK_NAME_MAX + 1];

    if (cli_output_is_json()) {
        json_t *lease = json_pack("{s:o, s:I, s:I}", "name", cli_output_string(name), "ttl_ms",
                                  (json_int_t)ttl_ms, "validity_ms", (json_int_t)validity);
        if (lease != NULL)
            set_owner(lease, redlock_lock_owner(lock, NULL));
        if (lease != NULL && slot >= 0)
            json_object_set_new(lease, "slot", json_integer(slot));
        if (lease != NULL && fence != 0)
            json_object_set_new(lease, "fence", json_integer((json_int_t)fence));
        if (lease != NULL)
            cli_names_show(lease, options);
        return cli_output_answer(lease) && cli_output_flush();
    }
    cli_text_clean(name, clean, sizeof clean);
    printf("name %s\nowner %s\nttl_ms %u\nvalidity_ms %lld\n", clean, redlock_lock_owner(lock, NULL), ttl_ms,
           validity);
    if (fence != 0)
        printf("fence %llu\n", fence);
    cli_names_print(options);
    if (slot >= 0)
        printf("slot %d\n", slot);
    return cli_output_flush();
}

static int take(const struct cli_session *session, const struct cli_options *options,
                const struct cli_signals *signals, redlock_kind kind, uint32_t ttl_ms, redlock_lock **taken)
{
    char why[sizeof((redlock_holder *)NULL)->why]; /* all that an owner value has room for */
    redlock_name also[REDLOCK_NAMES_MAX - 1];
    redlock_spec spec = REDLOCK_SPEC_INIT;
    struct cli_acquiring acquiring = {.session = session,
                                      .spec = &spec,
                                      .wait_ms = options->nonblock ? 0 : options->wait_ms,
                                      .signals = signals};

    spec.kind = kind;
    spec.permits = (uint32_t)options->slots;
    cli_names_set(&spec, options, also);
    spec.ttl_ms = ttl_ms;
    spec.why = cli_text_fit(options->why, why, sizeof why);
    cli_acquiring_run(&acquiring);
    if (acquiring.signal != 0)
        return CLI_EXIT_SIGNAL + acquiring.signal;
    if (acquiring.lock == NULL)
        return cli_failure_taking(session, options, cli_names_of(options, &acquiring.report),
                                  &acquiring.report);
    *taken = acquiring.lock;
    return CLI_EXIT_OK;
}

static void release_spec(const struct cli_session *session, const struct cli_options *options,
                         redlock_kind kind, const char *owner)
{
    redlock_name also[REDLOCK_NAMES_MAX - 1];
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.kind = kind;
    cli_names_set(&spec, options, also);
    spec.permits = (uint32_t)options->slots;
    redlock_release_spec(session->client, &spec, owner, 0, NULL);
}

/* The client is closed first, which sees to it that the lock reaches nodes that are late, and may take
 * connect_timeout: a caller reads the lease when this process has ended, and is told what is left of it
 * then. */
static int close_and_print(struct cli_session *session, const struct cli_options *options,
                           const redlock_lock *lock, redlock_kind kind, uint32_t ttl_ms)
{
    const char *name = options->words[0], *owner = redlock_lock_owner(lock, NULL);
    int64_t valid_until = cli_clock_now() + redlock_lock_validity_ms(lock);

    redlock_client_close(session->client);
    session->client = NULL;
    int64_t left = valid_until - cli_clock_now();
    if (left <= 0) {
        cli_output_fail(CLI_EXIT_LOST, "the lease of %s ended while nodes that do not answer were waited for",
                        name);
        cli_output_hint("fix", "choose a longer --ttl than %s, or mend the nodes: %s",
                        cli_text_span(ttl_ms).text, cli_suggest("doctor", NULL, NULL, NULL).text);
        return CLI_EXIT_LOST;
    }
    if (print_lease(options, lock, ttl_ms, left))
        return CLI_EXIT_OK;
    /* A lease nobody has heard of would only be in the way. */
    if (cli_session_connect(session, options) == 0)
        release_spec(session, options, kind, owner);
    return cli_output_fail(CLI_EXIT_SYSTEM, "the lease could not be printed, so %s was released", name);
}

static int prepare(struct cli_session *session, const struct cli_options *options,
                   struct cli_signals *signals, redlock_kind *kind, uint32_t *ttl_ms)
{
    int code = cli_acquiring_check(options);

    if (code == 0 && options->ttl_ms == CLI_NOT_GIVEN)
        code = cli_output_fail(CLI_EXIT_USAGE, "acquire needs --ttl: nothing renews the lock after it");
    if (code == 0)
        code = cli_session_prepare(session, options);
    if (code == 0)
        code = cli_acquiring_kind(session, options, kind);
    if (code == 0)
        code = cli_session_ttl(session, options, ttl_ms);
    if (code == 0)
        code = cli_names_check(session, options);
    if (code == 0 && !cli_signals_open(signals))
        code = cli_output_fail(CLI_EXIT_SYSTEM, "the system refused a descriptor for signals");
    /* The lock outlives this process: it is the caller's, who will release it. */
    session->pid = (uint32_t)getppid();
    cli_waiters_set_us(session->pid);
    if (code == 0)
        code = cli_session_connect(session, options);
    if (code == 0)
        code = cli_names_check_held(session, options);
    return code;
}

int cli_command_acquire(const struct cli_options *options)
{
    struct cli_session session = {0};
    struct cli_signals signals = {.fd = -1};
    redlock_kind kind = REDLOCK_EXCLUSIVE;
    redlock_lock *lock = NULL;
    uint32_t ttl_ms = 0;
    int code = prepare(&session, options, &signals, &kind, &ttl_ms);

    if (code == 0 && session.config.legacy)
        code = cli_legacy_acquire(&session, options, &signals, ttl_ms);
    else if (code == 0)
        code = take(&session, options, &signals, kind, ttl_ms, &lock);
    if (code == 0 && lock != NULL)
        code = close_and_print(&session, options, lock, kind, ttl_ms);
    cli_session_close(&session);
    redlock_lock_free(lock);
    return code;
}
