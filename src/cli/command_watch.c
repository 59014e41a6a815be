/*
 * redlock watch: what happens to locks, one line for each event, for people on a terminal and as JSON lines
 * otherwise. It takes and changes nothing.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/listed.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"

struct watch {
    bool json;
    bool failed; /* stdout cannot be written to */
};

static json_t *event_json(const redlock_event *event)
{
    json_t *object = cli_listed_json(&event->lock);

    json_object_set_new(object, "event", json_string(redlock_change_name(event->change)));
    json_object_set_new(object, "at_ms", json_integer(event->at_ms));
    if (event->before.id[0] != '\0')
        json_object_set_new(object, "before", cli_output_holder(&event->before));
    return object;
}

/* "10:02:11  acquired   nightly  deploy@web-3 pid 4242, id 7f3a91d0, slot 1 of 4, 15s left" */
static void print_event(const redlock_event *event)
{
    const redlock_listed *lock = &event->lock;
    char name[REDLOCK_NAME_MAX + 1], holder[400] = "";

    cli_listed_name(lock->name, lock->name_length, name, sizeof name);
    if (lock->holder.id[0] != '\0')
        cli_listed_holder(&lock->holder, holder, sizeof holder);
    else if (event->before.id[0] != '\0')
        cli_listed_holder(&event->before, holder, sizeof holder);
    printf(
        "%s  %-9s  %s", cli_text_since(event->at_ms, event->at_ms).text, redlock_change_name(event->change),
        lock->name_length > 0                  ? name
        : event->change == REDLOCK_CHANGE_SEEN ? "enough nodes answer again: changes are seen"
                                               : "too few nodes answer: changes are not seen at the moment");
    if (holder[0] != '\0')
        printf("  %s%s", holder, cli_listed_kind(lock).text);
    if (lock->holder.id[0] != '\0' && lock->ttl_left_ms >= 0)
        printf(", %s left", cli_text_span(lock->ttl_left_ms).text);
    printf("\n");
}

static int take_event(void *context, const redlock_event *event)
{
    struct watch *watch = context;

    if (watch->json) {
        watch->failed = !cli_output_answer(event_json(event)) || !cli_output_flush();
    } else {
        print_event(event);
        watch->failed = !cli_output_flush();
    }
    return watch->failed;
}

static int watch(const struct cli_session *session, const struct cli_options *options)
{
    redlock_report report = cli_session_report(session);
    redlock_list_spec spec = REDLOCK_LIST_SPEC_INIT;
    struct watch watching = {.json = cli_output_is_json() || !isatty(STDOUT_FILENO)};

    spec.name = options->word_count > 0 ? options->words[0] : NULL;
    spec.foreign = options->foreign;
    report.result = redlock_watch(session->client, &spec, take_event, &watching, &report);
    if (watching.failed)
        return cli_output_fail(CLI_EXIT_SYSTEM, "what happens could not be printed");
    return cli_failure_asking(session, spec.name, &report);
}

int cli_command_watch(const struct cli_options *options)
{
    struct cli_session session = {0};
    int code = cli_session_look(&session, options);

    if (code == 0 && options->word_count > 0)
        code = cli_session_check_name(&session, options->words[0]);
    if (code == 0)
        code = watch(&session, options);
    cli_session_close(&session);
    return code;
}
