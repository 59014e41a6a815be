/*
 * redlock extend: lengthens a lease that redlock acquire took. It never takes back a lock that has ended.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/acquiring.h"
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/legacy.h"
#include "cli/names.h"
#include "cli/output.h"
#include "cli/owner.h"
#include "cli/session.h"
#include "cli/suggest.h"
#include "cli/text.h"

/* What holds now. */
struct holding {
    const char *name;
    const struct cli_options *options;
    long long ttl_ms;         /* what the nodes have */
    int64_t valid_until;      /* by cli_clock_now() */
    unsigned long long fence; /* 0 none */
};

/* Once the client is closed, which may have taken a while: what is printed is what is left then. */
static int print_lease(const struct holding *holding)
{
    char clean[REDLOCK_NAME_MAX + 1];
    long long validity_ms = holding->valid_until - cli_clock_now();

    if (validity_ms <= 0) {
        cli_output_fail(CLI_EXIT_LOST, "the lease of %s ended while nodes that do not answer were waited for",
                        holding->name);
        cli_output_hint("fix", "choose a longer --ttl, or mend the nodes: %s",
                        cli_suggest("doctor", NULL, NULL, NULL).text);
        return CLI_EXIT_LOST;
    }
    if (cli_output_is_json()) {
        json_t *lease = json_pack("{s:o, s:I, s:I}", "name", cli_output_string(holding->name), "ttl_ms",
                                  (json_int_t)holding->ttl_ms, "validity_ms", (json_int_t)validity_ms);
        if (lease != NULL && holding->fence != 0)
            json_object_set_new(lease, "fence", json_integer((json_int_t)holding->fence));
        if (lease != NULL)
            cli_names_show(lease, holding->options);
        cli_output_answer(lease);
    } else {
        cli_text_clean(holding->name, clean, sizeof clean);
        printf("name %s\nttl_ms %lld\nvalidity_ms %lld\n", clean, holding->ttl_ms, validity_ms);
        if (holding->fence != 0)
            printf("fence %llu\n", holding->fence);
        cli_names_print(holding->options);
    }
    return cli_output_flush() ? CLI_EXIT_OK
                              : cli_output_fail(CLI_EXIT_SYSTEM, "the lease could not be printed");
}

/* One question to the nodes, which is not to take longer than the lease can spare. */
struct look {
    redlock_report *report;
    bool done;
};

static void take_look(void *context, redlock_result result, const redlock_report *report)
{
    struct look *look = context;

    if (redlock_report_copy(look->report, report) != REDLOCK_OK)
        result = REDLOCK_NOMEM;
    look->report->result = result;
    look->done = true;
}

/* Nodes that do not answer are not waited for beyond a quarter of the TTL: then what they know is not
 * told. */
static bool look_at(const struct cli_session *session, const char *name, uint32_t ttl_ms,
                    redlock_report *report)
{
    struct look look = {.report = report};
    struct pollfd polled = {.fd = redlock_client_fd(session->client), .events = POLLIN};
    int64_t until = cli_clock_now() + ttl_ms / 4;
    redlock_request request;
    bool canceled = false;

    if (polled.fd < 0 ||
        redlock_inspect_async(session->client, name, 0, take_look, &look, &request) != REDLOCK_OK)
        return false;
    while (!look.done) {
        (void)!poll(&polled, 1, canceled ? -1 : cli_clock_timeout(until, cli_clock_now()));
        redlock_client_process(session->client);
        if (!look.done && !canceled && cli_clock_now() >= until) {
            redlock_cancel(session->client, request);
            canceled = true;
        }
    }
    return report->result == REDLOCK_OK;
}

/* An extension never shortens: a lease that lasted longer still does, and the nodes are asked for how
 * long. */
static struct holding find_holding(const struct cli_session *session, const char *name, uint32_t ttl_ms,
                                   const redlock_lock *lock)
{
    redlock_report now = cli_session_second_report(session);
    struct holding holding = {.name = name, .ttl_ms = ttl_ms};
    const char *owner = redlock_lock_owner(lock, NULL);

    /* Of a lock that is shared it is told when the last of the leases ends, whosever that is. */
    if (look_at(session, name, ttl_ms, &now) && now.sharers <= 1 &&
        strncmp(now.holder.id, owner, strlen(now.holder.id)) == 0) {
        holding.fence = now.fence;
        if (now.holder_ttl_left_ms > holding.ttl_ms) {
            holding.ttl_ms = now.holder_ttl_left_ms;
            cli_output_note("%s has %s left, which is longer than %s: nothing was shortened", name,
                            cli_text_span(holding.ttl_ms).text, cli_text_span(ttl_ms).text);
        }
    }
    holding.valid_until = cli_clock_now() + redlock_lock_validity_ms(lock);
    return holding;
}

static int extend(const struct cli_session *session, const struct cli_options *options, redlock_kind kind,
                  const char *owner, uint32_t ttl_ms, redlock_lock **lock, struct holding *holding)
{
    redlock_report report = cli_session_report(session);
    redlock_name also[REDLOCK_NAMES_MAX - 1];
    redlock_spec spec = REDLOCK_SPEC_INIT;

    spec.kind = kind;
    spec.permits = (uint32_t)options->slots;
    cli_names_set(&spec, options, also);
    spec.ttl_ms = ttl_ms;
    report.result = redlock_adopt(session->client, &spec, owner, 0, lock, &report);
    if (report.result != REDLOCK_OK)
        return cli_failure_claiming(session, cli_names_of(options, &report),
                                    &(struct cli_claim){.options = options, .owner = owner}, &report);
    *holding = find_holding(session, options->words[0], ttl_ms, *lock);
    holding->options = options;
    return CLI_EXIT_OK;
}

int cli_command_extend(const struct cli_options *options)
{
    struct cli_session session = {0};
    const char *owner = NULL;
    redlock_kind kind = REDLOCK_EXCLUSIVE;
    redlock_lock *lock = NULL;
    struct holding holding = {0};
    uint32_t ttl_ms = 0;
    int code = cli_owner_find(options, &owner);

    if (code == 0)
        code = cli_session_open(&session, options);
    if (code == 0)
        code = cli_acquiring_kind(&session, options, &kind);
    if (code == 0)
        code = cli_names_check(&session, options);
    if (code == 0)
        code = cli_session_ttl(&session, options, &ttl_ms);
    if (code == 0 && session.config.legacy)
        code = cli_legacy_extend(&session, options->words[0], owner, ttl_ms);
    else if (code == 0)
        code = extend(&session, options, kind, owner, ttl_ms, &lock, &holding);
    cli_session_close(&session); /* which sees to it that the lock reaches nodes that are late */
    if (code == 0 && lock != NULL)
        code = print_lease(&holding);
    redlock_lock_free(lock);
    return code;
}
