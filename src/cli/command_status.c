/*
 * redlock status: who holds a name and what each node says about it; without a name, how the nodes are.
 * It takes and changes nothing.
 */
#include <stdio.h>
#include <string.h>

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exits.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"

/* What a node's verdict means when nothing was asked for but the state of things. */
static const char *node_word(const redlock_node_report *node, bool about_name)
{
    switch (node->verdict) {
    case REDLOCK_VERDICT_GRANTED:
        if (!about_name && !node->fit)
            return "unfit";
        return about_name ? "free" : "up";
    case REDLOCK_VERDICT_DENIED:
        return about_name ? "held" : "up";
    case REDLOCK_VERDICT_SILENT:
    case REDLOCK_VERDICT_UNFIT:
    case REDLOCK_VERDICT_PENDING:
    case REDLOCK_VERDICT_BROKEN:
        break;
    }
    return redlock_verdict_name(node->verdict);
}

static void print_node(uint32_t number, const redlock_node_report *node, bool about_name, int width)
{
    char url[sizeof node->url], detail[sizeof node->detail];

    cli_text_clean(node->url, url, sizeof url);
    cli_text_clean(node->detail, detail, sizeof detail);
    printf("  node %-2u %-*s  %-6s", number, width, url, node_word(node, about_name));
    if (node->latency_us >= 0)
        printf("  %7s", cli_text_latency(node->latency_us).text);
    if (node->ttl_left_ms >= 0)
        printf("  %s left", cli_text_span(node->ttl_left_ms).text);
    else if (node->ttl_left_ms == -1 && node->verdict == REDLOCK_VERDICT_DENIED)
        printf("  no end");
    if (detail[0] != '\0')
        printf("  %s", detail);
    printf("\n");
}

static void print_nodes(const redlock_report *report, bool about_name)
{
    int width = 0;

    for (uint32_t i = 0; i < report->node_count; i++)
        if ((int)strlen(report->nodes[i].url) > width)
            width = (int)strlen(report->nodes[i].url);
    for (uint32_t i = 0; i < report->node_count; i++)
        print_node(i + 1, &report->nodes[i], about_name, width);
}

static void print_holder(const char *name, const redlock_report *report)
{
    const redlock_holder *holder = &report->holder;
    char words[512], clean[512];
    int64_t now = cli_clock_wall();

    cli_failure_describe_holder(holder, words, sizeof words);
    cli_text_clean(words, clean, sizeof clean);
    printf("%s is held by %s\n", name, clean);
    if (holder->since_ms > 0)
        printf("  since   %s (%s)\n", cli_text_since(holder->since_ms, now).text,
               cli_text_span(now - holder->since_ms).text);
    if (report->holder_ttl_left_ms >= 0)
        printf("  lease   %s left, granted by %u of %u\n", cli_text_span(report->holder_ttl_left_ms).text,
               report->denied, report->node_count);
    else
        printf("  lease   has no end, on %u of %u nodes\n", report->denied, report->node_count);
    cli_text_clean(holder->id, clean, sizeof clean);
    printf("  id      %s\n", clean);
}

/* What is said of a name that nobody holds. */
static const char *free_words(const redlock_report *report)
{
    for (uint32_t i = 0; i < report->node_count; i++)
        if (strncmp(report->nodes[i].detail, "WRONGTYPE", strlen("WRONGTYPE")) == 0)
            return "holds something that is not a lock of this kind";
    return report->denied == 0 ? "is free" : "is not held by a quorum of nodes";
}

static void print_words(const char *name, const redlock_report *report, bool plain)
{
    char clean[REDLOCK_NAME_MAX + 1] = "";

    if (name != NULL) {
        cli_text_clean(name, clean, sizeof clean);
        if (report->holder.id[0] != '\0')
            print_holder(clean, report);
        else if (report->result == REDLOCK_OK)
            printf("%s %s\n", clean, free_words(report));
    }
    print_nodes(report, name != NULL);
    if (name == NULL)
        printf("  mode    %s\n", plain ? "plain: no fences, no guard against nodes that forget"
                                       : "guarded: fences, and nodes that forget do not vote");
}

static void print_json(const char *name, const redlock_report *report, bool plain)
{
    json_t *object = json_pack("{s:s, s:s, s:i, s:i, s:o}", "result", redlock_result_name(report->result),
                               "mode", plain ? "plain" : "guarded", "quorum", (int)report->quorum, "held_on",
                               (int)report->denied, "nodes", cli_output_nodes(report));

    if (name != NULL) {
        json_object_set_new(object, "name", cli_output_string(name));
        json_object_set_new(object, "holder", cli_output_holder(&report->holder));
        json_object_set_new(object, "ttl_left_ms",
                            report->holder_ttl_left_ms < 0 ? json_null()
                                                           : json_integer(report->holder_ttl_left_ms));
    }
    cli_output_answer(object);
}

/* Whatever came back is printed; only then it is said that it is not enough. */
static int ask_and_print(const struct cli_session *session, const char *name)
{
    redlock_report report = REDLOCK_REPORT_INIT;

    report.result = redlock_inspect(session->client, name, 0, &report);
    if (cli_output_is_json())
        print_json(name, &report, session->config.plain);
    else
        print_words(name, &report, session->config.plain);
    if (!cli_output_flush())
        return cli_output_fail(CLI_EXIT_SYSTEM, "the status could not be printed");
    return report.result == REDLOCK_OK ? CLI_EXIT_OK : cli_failure_asking(name, &report);
}

int cli_command_status(const struct cli_options *options)
{
    const char *name = options->word_count > 0 ? options->words[0] : NULL;
    struct cli_session session = {0};
    int code = cli_session_open(&session, options);

    if (code == 0 && name != NULL)
        code = cli_session_check_name(&session, name);
    if (code == 0)
        code = ask_and_print(&session, name);
    cli_session_close(&session);
    return code;
}
