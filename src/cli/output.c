/*
 * What the command says: words for people on stderr with the prefix "redlock: ", one JSON object a line with
 * --json. It never writes to stdout except where a command's own answer goes there (cli_output_answer).
 */
#include "cli/output.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

#define LINE_MAX_BYTES (CLI_COMMAND_MAX + 512)

/* How to speak, the same for the whole process; the mutex keeps lines of several threads apart. */
static struct {
    bool quiet, verbose, json, color, live;
    bool drawn; /* the live line stands on the terminal and has to go before anything else is said */
    pthread_mutex_t mutex;
} voice = {.mutex = PTHREAD_MUTEX_INITIALIZER};

void cli_output_configure(bool quiet, bool verbose, bool json, bool no_color)
{
    const char *terminal = getenv("TERM");
    const char *refused = getenv("NO_COLOR");
    bool on_terminal = isatty(STDERR_FILENO) == 1 && terminal != NULL && strcmp(terminal, "dumb") != 0;

    voice.quiet = quiet;
    voice.verbose = verbose && !quiet;
    voice.json = json;
    voice.color = on_terminal && !json && !no_color && (refused == NULL || *refused == '\0');
    voice.live = on_terminal && !json && !quiet && !verbose;
}

bool cli_output_is_quiet(void)
{
    return voice.quiet;
}

bool cli_output_is_json(void)
{
    return voice.json;
}

bool cli_output_is_live(void)
{
    return voice.live;
}

/* One write per line, so that lines of several processes on one terminal stay whole. Nobody can be told when
 * stderr itself is gone, so the result is not looked at. */
static void write_stderr(const char *line, size_t length)
{
    pthread_mutex_lock(&voice.mutex);
    if (voice.drawn)
        (void)!write(STDERR_FILENO, "\r\033[K", 4);
    voice.drawn = false;
    (void)!write(STDERR_FILENO, line, length);
    pthread_mutex_unlock(&voice.mutex);
}

static bool write_json(json_t *object, FILE *to)
{
    char *text = object == NULL ? NULL : json_dumps(object, JSON_COMPACT);
    size_t length = text == NULL ? 0 : strlen(text);
    bool written = text != NULL;

    json_decref(object);
    if (!written)
        return false;
    text[length] = '\n'; /* takes the place of the terminating NUL */
    if (to == stdout)
        written = fwrite(text, 1, length + 1, to) == length + 1;
    else
        write_stderr(text, length + 1);
    free(text);
    return written;
}

/* Says one line in the form that was asked for. */
__attribute__((format(printf, 4, 0))) static void say(const char *level, const char *color, json_t *more,
                                                      const char *format, va_list arguments)
{
    char words[LINE_MAX_BYTES], clean[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];

    vsnprintf(words, sizeof words, format, arguments);
    cli_text_clean(words, clean, sizeof clean);
    if (voice.json) {
        json_t *object = json_pack("{s:s, s:s}", "level", level, "message", clean);
        if (object != NULL && more != NULL)
            json_object_update(object, more);
        write_json(object, stderr);
    } else {
        bool plain = !voice.color || color == NULL;
        const char *label = strcmp(level, "warning") == 0 ? "warning: " : "";
        int length = snprintf(line, sizeof line, "%sredlock: %s%s%s\n", plain ? "" : color, label,
                              plain ? "" : "\033[0m", clean);
        write_stderr(line, (size_t)length);
    }
    json_decref(more);
}

void cli_output_note(const char *format, ...)
{
    va_list arguments;

    if (voice.quiet)
        return;
    va_start(arguments, format);
    say("note", NULL, NULL, format, arguments);
    va_end(arguments);
}

void cli_output_warn(const char *format, ...)
{
    va_list arguments;

    if (voice.quiet)
        return;
    va_start(arguments, format);
    say("warning", "\033[33m", NULL, format, arguments);
    va_end(arguments);
}

void cli_output_detail(const char *format, ...)
{
    va_list arguments;

    if (!voice.verbose)
        return;
    va_start(arguments, format);
    say("detail", NULL, NULL, format, arguments);
    va_end(arguments);
}

static json_t *with_code(json_t *more, int code)
{
    json_t *object = more == NULL ? json_object() : more;

    json_object_set_new(object, "exit_code", json_integer(code));
    return object;
}

int cli_output_fail(int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say("error", "\033[31m", with_code(NULL, code), format, arguments);
    va_end(arguments);
    return code;
}

int cli_output_fail_with(json_t *more, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say("error", "\033[31m", with_code(more, code), format, arguments);
    va_end(arguments);
    return code;
}

void cli_output_hint(const char *label, const char *format, ...)
{
    char words[LINE_MAX_BYTES], clean[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];
    va_list arguments;

    if (voice.quiet || voice.json)
        return;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    cli_text_clean(words, clean, sizeof clean);
    int length = snprintf(line, sizeof line, "  %-7s %s\n", label, clean);
    write_stderr(line, (size_t)length);
}

/* Bytes of the first `columns` characters: one column each, which holds for all we draw but some names. */
static size_t cut_to_columns(const char *text, size_t columns)
{
    size_t i = 0;

    while (text[i] != '\0') {
        if (((unsigned char)text[i] & 0xc0) != 0x80 && columns-- == 0)
            break;
        i++;
    }
    return i;
}

void cli_output_draw(const char *text)
{
    struct winsize size = {0};
    char line[LINE_MAX_BYTES];

    if (!voice.live)
        return;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size.ws_col = 80;
    int shown = (int)cut_to_columns(text, size.ws_col - 1u);
    int length = snprintf(line, sizeof line, "\r%.*s\033[K", shown, text);
    if (length >= (int)sizeof line)
        length = (int)sizeof line - 1;

    pthread_mutex_lock(&voice.mutex);
    if (*text != '\0' || voice.drawn)
        (void)!write(STDERR_FILENO, line, (size_t)length);
    voice.drawn = *text != '\0';
    pthread_mutex_unlock(&voice.mutex);
}

bool cli_output_answer(json_t *object)
{
    return write_json(object, stdout);
}

void cli_output_summary(json_t *object)
{
    write_json(object, stderr);
}

bool cli_output_flush(void)
{
    return fflush(stdout) == 0 && ferror(stdout) == 0;
}

void cli_output_log(void *context, redlock_log_level level, const char *line)
{
    (void)context;
    if (level ==
        REDLOCK_LOG_ERROR) /* a fleet that is not what it seems: that may come up long after the start */
        cli_output_warn("%s", line);
    else
        cli_output_detail("%s", line);
}

void cli_output_trace(void *context, const char *line)
{
    (void)context;
    cli_output_detail("%s", line);
}

json_t *cli_output_string(const char *text)
{
    size_t size = strlen(text) + 1;
    char *clean = malloc(size);

    if (clean == NULL)
        return json_null();
    cli_text_clean(text, clean, size);
    json_t *string = json_string(clean);
    free(clean);
    return string;
}

json_t *cli_output_who(const redlock_holder *who)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I}", "id", cli_output_string(who->id), "host",
                     cli_output_string(who->host), "user", cli_output_string(who->user), "why",
                     cli_output_string(who->why), "pid", (json_int_t)who->pid, "since_ms",
                     (json_int_t)who->since_ms);
}

json_t *cli_output_holder(const redlock_holder *holder)
{
    json_t *object = holder->id[0] == '\0' ? json_null() : cli_output_who(holder);

    if (holder->broken)
        json_object_set_new(object, "broken", json_true());
    return object;
}

static json_t *node_object(const redlock_node_report *node)
{
    json_t *object = json_pack("{s:o, s:s, s:s, s:b, s:b, s:o}", "url", cli_output_string(node->url),
                               "verdict", redlock_verdict_name(node->verdict), "cause",
                               redlock_cause_name(node->cause), "eligible", (int)node->eligible, "notifies",
                               (int)node->notifies, "detail", cli_output_string(node->detail));

    json_object_set_new(object, "eligible_in_ms",
                        node->eligible_in_ms < 0 ? json_null() : json_integer(node->eligible_in_ms));
    json_object_set_new(object, "latency_us",
                        node->latency_us < 0 ? json_null() : json_integer(node->latency_us));
    json_object_set_new(object, "ttl_left_ms",
                        node->ttl_left_ms < 0 ? json_null() : json_integer(node->ttl_left_ms));
    if (node->owner_length > 0) {
        redlock_holder who;

        redlock_holder_parse(node->owner, node->owner_length, &who);
        json_object_set_new(object, "id", cli_output_string(who.id));
    }
    if (node->fence != 0)
        json_object_set_new(object, "fence", json_integer((json_int_t)node->fence));
    return object;
}

json_t *cli_output_nodes(const redlock_report *report)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    json_t *nodes = json_array();

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++) {
        /* Where votes are missing, what counts is that it has none, not what it knows of the lock. */
        if (report->result == REDLOCK_QUARANTINE && !node.eligible &&
            (node.verdict == REDLOCK_VERDICT_FREE || node.verdict == REDLOCK_VERDICT_HELD))
            node.verdict = REDLOCK_VERDICT_INELIGIBLE;
        json_array_append_new(nodes, node_object(&node));
    }
    return nodes;
}
