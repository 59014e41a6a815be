/*
 * redlock elect: one of many is the leader and runs CMD, for as long as it holds the lock; the others wait,
 * and so does a leader that lost it. With --observe it takes no part, and tells who leads.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/listed.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/text.h"

/* ---- taking part --------------------------------------------------------------------------------------- */

static int take_part(const struct cli_options *options)
{
    struct cli_run_job job = {.command = "elect"};
    bool lost;
    int code;

    if (options->on_lost == CLI_ON_LOST_IGNORE)
        return cli_output_fail(
            CLI_EXIT_USAGE, "--on-lost ignore: then two could lead; a leader that lost the lock is stopped");
    for (;;) {
        code = cli_run(options, &job, &lost);
        if (!lost)
            return code;
        cli_output_note("%s: no longer the leader; waiting to be elected again", options->words[0]);
    }
}

/* ---- observing ----------------------------------------------------------------------------------------- */

enum { AGREE_TRIES = 50, AGREE_PAUSE_MS = 20 };

struct observer {
    const struct cli_session *session;
    const char *name;
    bool json, begun;
    bool failed;    /* stdout cannot be written to */
    char leader[9]; /* as was told last; empty: nobody leads */
    uint64_t fence;
    bool unknown; /* too few nodes answered */
};

/* Whether a quorum of nodes tells the highest fence of a report: then it is agreed on. */
static bool is_agreed(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    uint32_t same = 0;

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        same += node.fence == report->fence;
    return same >= report->quorum;
}

/* The fence is agreed on a moment after the lock is seen at the nodes: looked up until it is, as long as the
 * same one has it. */
static uint64_t find_fence(const struct observer *observer, const redlock_event *event, const char *id)
{
    const struct timespec pause = {.tv_nsec = AGREE_PAUSE_MS * 1000000};
    redlock_report report = cli_session_second_report(observer->session);
    uint64_t fence = *id == '\0' ? 0 : event->lock.fence;

    for (int i = 0; *id != '\0' && i < AGREE_TRIES; i++) {
        if (redlock_inspect(observer->session->client, observer->name, 0, &report) != REDLOCK_OK ||
            strcmp(report.holder.id, id) != 0)
            break;
        fence = report.fence;
        if (is_agreed(&report))
            break;
        nanosleep(&pause, NULL);
    }
    return fence;
}

static void print_leader(const struct observer *observer, const redlock_event *event, const char *id)
{
    char holder[400];

    if (observer->json) {
        json_t *object =
            json_pack("{s:s, s:I, s:o}", "event", observer->unknown ? "unknown" : "leader", "at_ms",
                      (json_int_t)event->at_ms, "leader", cli_output_holder(&event->lock.holder));
        if (observer->fence != 0)
            json_object_set_new(object, "fence", json_integer((json_int_t)observer->fence));
        cli_output_answer(object);
        return;
    }
    printf("%s  ", cli_text_since(event->at_ms, event->at_ms).text);
    if (observer->unknown) {
        printf("too few nodes answer: it is not known who leads\n");
    } else if (*id == '\0') {
        printf("nobody leads\n");
    } else {
        cli_listed_holder(&event->lock.holder, holder, sizeof holder);
        printf("%s leads, fence %llu\n", holder, (unsigned long long)observer->fence);
    }
}

/* Told when something else is so than was told last. */
static int take_event(void *context, const redlock_event *event)
{
    struct observer *observer = context;
    bool unknown = event->change == REDLOCK_CHANGE_UNKNOWN;
    bool led = !unknown && event->change != REDLOCK_CHANGE_LOST && event->change != REDLOCK_CHANGE_BROKEN;
    const char *id = led ? event->lock.holder.id : "";
    bool same = observer->begun && strcmp(observer->leader, id) == 0 && observer->unknown == unknown;

    if (same && (*id == '\0' || event->lock.fence <= observer->fence))
        return 0;
    observer->begun = true;
    observer->unknown = unknown;
    observer->fence = find_fence(observer, event, id);
    snprintf(observer->leader, sizeof observer->leader, "%s", id);
    print_leader(observer, event, id);
    observer->failed = !cli_output_flush();
    return observer->failed;
}

static int watch(const struct cli_session *session, const char *name)
{
    redlock_report report = cli_session_report(session);
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    struct observer observer = {
        .session = session, .name = name, .json = cli_output_is_json() || !isatty(STDOUT_FILENO)};

    spec.name = name;
    report.result = redlock_watch(session->client, &spec, take_event, &observer, &report);
    if (observer.failed)
        return cli_output_fail(CLI_EXIT_SYSTEM, "who leads could not be printed");
    return cli_failure_asking(session, name, &report);
}

static int observe(const struct cli_options *options)
{
    struct cli_session session = {0};

    if (options->word_count > 1 || options->shell != NULL)
        return cli_output_fail(CLI_EXIT_USAGE, "--observe takes no part, and so no CMD");
    int code = cli_session_look(&session, options);
    if (code == 0)
        code = cli_session_check_name(&session, options->words[0]);
    if (code == 0)
        code = watch(&session, options->words[0]);
    cli_session_close(&session);
    return code;
}

int cli_command_elect(const struct cli_options *options)
{
    return options->observe ? observe(options) : take_part(options);
}
