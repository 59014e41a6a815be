/*
 * What the command says: words for people on stderr with the prefix "redlock: ", one JSON object a line with
 * --json. It never writes to stdout except where a command's own answer goes there (cli_output_answer).
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include <redlock.h>

/* Set once, before anything is said. */
void cli_output_configure(bool quiet, bool verbose, bool json, bool no_color);

bool cli_output_is_quiet(void);
bool cli_output_is_json(void);
/* May stderr carry a line that is redrawn? Only a terminal that can move its cursor, and only for people. */
bool cli_output_is_live(void);

/* A note or a warning; -q silences both. A detail is only said with -v. Any thread. */
void cli_output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_output_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void cli_output_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says an error and returns the exit code it was given. With --json the members of `more` (may be NULL;
 * consumed) stand beside the words. */
int cli_output_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_output_fail_with(json_t *more, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A labelled line below an error ("  see     redlock status x"); not with -q or --json, which have their
 * own. */
void cli_output_hint(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Draws the live line, cut to the terminal's width; an empty text removes it. */
void cli_output_draw(const char *text);

/* Prints one JSON object as a line, to stdout or to stderr, and consumes it. False when it could not be
 * written. */
bool cli_output_answer(json_t *object);
void cli_output_summary(json_t *object);

/* Flushes stdout; false when not all of it could be written. */
bool cli_output_flush(void);

/* The library's log and trace hooks (-v). Any thread. */
void cli_output_log(void *context, redlock_log_level level, const char *line);
void cli_output_trace(void *context, const char *line);

/* A JSON string of any bytes: what is not printable UTF-8 is replaced. */
json_t *cli_output_string(const char *text);
json_t *cli_output_who(const redlock_holder *who);
json_t *cli_output_holder(const redlock_holder *holder); /* null when nobody is named */
json_t *cli_output_nodes(const redlock_report *report);

#endif
