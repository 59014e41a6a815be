/*
 * The time in which the lock is held: starts CMD through the warden, forwards signals, tells what happens to
 * the lease, and sees CMD end. The deadlines themselves are the warden's.
 */
#include "cli/supervise.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define LOOK_MS 1000 /* whether local nodes can still be found */

/* ---- the lease ----------------------------------------------------------------------------------------- */

static void tell_renewal(struct cli_supervision *supervision, const struct cli_lease_news *news)
{
    bool degraded = news->failed || news->out_of_order > 0;
    json_t *more =
        json_pack("{s:i, s:i, s:i, s:I}", "granted", (int)news->granted, "nodes", (int)news->node_count,
                  "quorum", (int)news->quorum, "validity_ms", (json_int_t)news->validity_ms);

    if (news->failed && !news->late && !supervision->failing && !supervision->lost)
        cli_output_warn("%s could not be renewed: %u of %s agreed, %s; %s left", supervision->name,
                        news->granted, cli_text_nodes(news->node_count).text,
                        cli_text_needed(news->quorum).text, cli_text_span(news->validity_ms).text);
    if (news->renewed)
        cli_events_emit(supervision->events, "renewed", json_incref(more));
    /* A renewal that failed is tried again many times a second; only the first one is news. */
    if ((news->failed && !supervision->failing) || (degraded && !supervision->degraded))
        cli_events_emit(supervision->events, "degraded", json_incref(more));
    supervision->failing = news->failed;
    supervision->degraded = degraded;
    json_decref(more);
}

struct loss_words {
    char text[164];
};

/* The lock is lost, or will be before it can be renewed. Said once, however many signs there are. */
static void tell_loss(struct cli_supervision *supervision, const char *why)
{
    static const char *const consequences[] = {"is being stopped", "is killed", "goes on without it"};
    int64_t left = redlock_lock_validity_ms(supervision->lock);

    if (supervision->lost)
        return;
    supervision->lost = true;
    cli_events_emit(supervision->events, "lost", json_pack("{s:I}", "validity_ms", (json_int_t)left));
    if (supervision->ended) {
        cli_output_warn("%s was lost (%s) after %s had ended", supervision->name, why, supervision->program);
        return;
    }
    cli_output_fail(CLI_EXIT_LOST, "%s is lost (%s); %s %s", supervision->name, why, supervision->program,
                    consequences[supervision->on_lost]);
}

/* Of several names, which of them it was. */
static void add_name(struct loss_words *words, const redlock_lock *lock, uint32_t number)
{
    const char *name =
        number > 0 && redlock_lock_name_count(lock) > 1 ? redlock_lock_name_at(lock, number - 1, NULL) : NULL;
    size_t used = strlen(words->text);

    if (name != NULL)
        snprintf(words->text + used, sizeof words->text - used, ": %.60s", name);
}

static struct loss_words loss_words(struct cli_lease_news news)
{
    struct loss_words words;

    if (news.broken)
        snprintf(words.text, sizeof words.text, "an operator has broken it");
    else if (news.late)
        snprintf(words.text, sizeof words.text, "it was not renewed in time, its validity has ended");
    else if (news.not_held > 0)
        snprintf(words.text, sizeof words.text, "%u of %u nodes do not have it any more", news.not_held,
                 news.node_count);
    else
        snprintf(words.text, sizeof words.text, "%u of %s renewed it, %s", news.granted,
                 cli_text_nodes(news.node_count).text, cli_text_needed(news.quorum).text);
    return words;
}

static void hear_lease(struct cli_supervision *supervision)
{
    struct cli_lease_news news;

    if (!cli_lease_take_news(supervision->lease, &news))
        return;
    if (news.renewed || news.failed)
        tell_renewal(supervision, &news);
    if (news.lost) {
        struct loss_words words = loss_words(news);

        if (!news.late && supervision->lock != NULL)
            add_name(&words, supervision->lock, news.name_number);
        tell_loss(supervision, words.text);
    }
    cli_metrics_file_write(supervision->metrics, supervision->client, -1);
}

/* ---- CMD ----------------------------------------------------------------------------------------------- */

static void tell_exit(struct cli_supervision *supervision, int wait_status)
{
    json_t *more = WIFSIGNALED(wait_status) ? json_pack("{s:i}", "signal", WTERMSIG(wait_status))
                                            : json_pack("{s:i}", "code", WEXITSTATUS(wait_status));

    cli_events_emit(supervision->events, "child_exit", more);
}

/* CMD has ended, by itself or because it was stopped. */
static void take_end(struct cli_supervision *supervision, const struct cli_warden_notice *notice)
{
    supervision->ended = true;
    supervision->code = cli_child_exit_code(notice->number);
    tell_exit(supervision, notice->number);
    if (notice->reason == CLI_STOP_LOST)
        supervision->code = CLI_EXIT_LOST;
    if (notice->reason == CLI_STOP_MAX_TIME) {
        supervision->code = CLI_EXIT_MAX_TIME;
        cli_output_fail(CLI_EXIT_MAX_TIME, "%s ran longer than --max-time and was stopped",
                        supervision->program);
    }
    if (notice->survivors > 0)
        cli_output_fail(supervision->code, "%d processes of %s could not be ended and may still run",
                        notice->survivors, supervision->program);
}

static void take_failure(struct cli_supervision *supervision, int error)
{
    bool missing = error == ENOENT || error == ENOTDIR;

    if (error == ETIME) {
        tell_loss(supervision, "it could not be renewed in time");
        supervision->ended = true;
        supervision->code = CLI_EXIT_LOST;
        cli_output_fail(CLI_EXIT_LOST, "%s was not started: the lock was lost before", supervision->program);
        return;
    }
    supervision->ended = true;
    supervision->code = missing ? CLI_EXIT_NOT_FOUND : CLI_EXIT_CANNOT_EXECUTE;
    cli_output_fail(supervision->code, "%s: %s", supervision->program,
                    missing ? "command not found" : strerror(error));
}

/* Somebody killed the warden. CMD dies with it; what it left is ours to end. */
static void take_warden_death(struct cli_supervision *supervision)
{
    int survivors = cli_warden_sweep(supervision->warden);

    supervision->ended = true;
    supervision->code = CLI_EXIT_INTERNAL;
    cli_output_fail(CLI_EXIT_INTERNAL,
                    "the process that watched over %s was killed; %s was ended, %d are left",
                    supervision->program, supervision->program, survivors);
}

static void hear_warden(struct cli_supervision *supervision)
{
    struct cli_warden_notice notice = cli_warden_listen(supervision->warden);

    if (notice.reason == CLI_STOP_LOST)
        hear_lease(supervision); /* if the nodes have said why, that is the reason */
    switch (notice.event) {
    case CLI_WARDEN_NOTHING:
        break;
    case CLI_WARDEN_STARTED:
        supervision->started = true;
        supervision->terminal->child_group = (pid_t)notice.number;
        break;
    case CLI_WARDEN_FAILED:
        take_failure(supervision, notice.number);
        break;
    case CLI_WARDEN_SUSPENDED:
        cli_terminal_suspended(supervision->terminal, supervision->warden, notice.number);
        break;
    case CLI_WARDEN_STOPPING:
        if (notice.reason == CLI_STOP_LOST)
            tell_loss(supervision, "it could not be renewed in time");
        break;
    case CLI_WARDEN_ENDED:
        take_end(supervision, &notice);
        break;
    case CLI_WARDEN_GONE:
        take_warden_death(supervision);
        break;
    }
}

/* ---- signals ------------------------------------------------------------------------------------------- */

static void forward(struct cli_supervision *supervision, struct cli_signal taken)
{
    if (taken.number == SIGCHLD)
        return;
    if (taken.number == SIGCONT) {
        cli_terminal_continued(supervision->terminal, supervision->warden);
        return;
    }
    supervision->interrupted = supervision->interrupted || cli_signal_ends(taken.number);
    /* In the caller's group the terminal has already sent it to CMD as well. */
    if (!(supervision->foreground && taken.from_terminal))
        cli_warden_forward(supervision->warden, taken.number);
    if (taken.number == SIGTSTP)
        cli_terminal_suspend();
}

static void hear_signals(struct cli_supervision *supervision)
{
    struct cli_signal taken;

    while ((taken = cli_signals_take(supervision->signals)).number != 0)
        forward(supervision, taken);
}

/* ---- local nodes --------------------------------------------------------------------------------------- */

/* They may go on without their files and renew the lock for ever, while others start new ones beside them. */
static void look_for_nodes(struct cli_supervision *supervision)
{
    if (supervision->local == NULL || supervision->lost || !cli_local_is_gone(supervision->local))
        return;
    cli_lease_end(supervision->lease);
    tell_loss(supervision, "the files of the local nodes are gone");
}

/* ---- the loops ----------------------------------------------------------------------------------------- */

void cli_supervise_run(struct cli_supervision *supervision)
{
    struct pollfd polled[] = {{.fd = supervision->warden->fd, .events = POLLIN},
                              {.fd = supervision->signals->fd, .events = POLLIN},
                              {.fd = supervision->lease->fd, .events = POLLIN},
                              {.fd = redlock_client_fd(supervision->client), .events = POLLIN}};

    if (supervision->lock != NULL)
        cli_lease_arm(supervision->lease, supervision->lock);
    cli_warden_start(supervision->warden);
    cli_metrics_file_write(supervision->metrics, supervision->client, -1);
    while (!supervision->ended) {
        (void)!poll(polled, sizeof polled / sizeof polled[0], supervision->local != NULL ? LOOK_MS : -1);
        look_for_nodes(supervision);
        hear_lease(supervision);
        hear_signals(supervision);
        hear_warden(supervision);
        redlock_client_process(supervision->client);
    }
    cli_lease_over(supervision->lease);
}

void cli_supervise_hold(struct cli_supervision *supervision, int64_t until_ms)
{
    struct pollfd polled[] = {{.fd = supervision->signals->fd, .events = POLLIN},
                              {.fd = supervision->lease->fd, .events = POLLIN}};
    struct cli_signal taken;
    int64_t now;

    while (!supervision->lost && (now = cli_clock_now()) < until_ms) {
        (void)!poll(polled, 2, cli_clock_timeout(until_ms, now));
        hear_lease(supervision);
        while ((taken = cli_signals_take(supervision->signals)).number != 0) {
            if (cli_signal_ends(taken.number))
                return;
            if (taken.number == SIGTSTP)
                cli_terminal_suspend();
        }
    }
}
