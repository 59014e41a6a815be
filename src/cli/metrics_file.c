/*
 * --metrics-file; see metrics_file.h. The file is written beside its place and moved there when it is whole,
 * so that nobody reads half of it and a full disk leaves the last one as it was.
 */
#include "cli/metrics_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exits.h"
#include "cli/output.h"

#define PATH_MAX_BYTES 4096

/* ---- checks ---- */

static bool is_key(const char *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    static const char *const taken[] = {"le", "outcome", "node", "verdict", "reason", "version"};

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(key, taken[i]) == 0)
            return false;
    return strspn(key, letters) > 0 && strncmp(key, "__", 2) != 0 &&
           key[strspn(key, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")] == '\0';
}

static int read_label(struct cli_metrics_file *file, const char *label)
{
    const char *equals = label == NULL ? NULL : strchr(label, '=');

    if (label == NULL)
        return 0;
    if (equals != NULL && (size_t)(equals - label) < sizeof file->key) {
        memcpy(file->key, label, (size_t)(equals - label));
        file->value = equals + 1;
    }
    if (file->value != NULL && is_key(file->key))
        return 0;
    cli_output_fail(CLI_EXIT_USAGE, "--metrics-label \"%s\" is not KEY=VALUE with a KEY that is free", label);
    cli_output_hint("fix", "use letters, digits and _, as in --metrics-label task=backup");
    return CLI_EXIT_USAGE;
}

/* A folder that is not there will not come; a disk that is full may have room later. */
static int check_folder(const char *path)
{
    char folder[PATH_MAX_BYTES];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - path);

    if (strlen(path) + 32 > sizeof folder || path[0] == '\0' || (slash != NULL && slash[1] == '\0'))
        return cli_output_fail(CLI_EXIT_USAGE, "--metrics-file \"%.200s\" is not the path of a file", path);
    snprintf(folder, sizeof folder, "%.*s",
             slash == NULL ? 1
             : length == 0 ? 1
                           : (int)length,
             slash == NULL ? "." : path);
    if (access(folder, W_OK | X_OK) != 0) {
        cli_output_fail(CLI_EXIT_USAGE, "--metrics-file %s: %s: %s", path, folder, strerror(errno));
        cli_output_hint("fix", "make the folder, or let this user write there");
        return CLI_EXIT_USAGE;
    }
    return 0;
}

int cli_metrics_file_open(struct cli_metrics_file *file, const struct cli_options *options)
{
    *file = (struct cli_metrics_file){.path = options->metrics_file};
    if (options->metrics_label != NULL && options->metrics_file == NULL)
        return cli_output_fail(CLI_EXIT_USAGE, "--metrics-label belongs to --metrics-file");
    if (file->path == NULL)
        return 0;
    int code = check_folder(file->path);
    return code != 0 ? code : read_label(file, options->metrics_label);
}

/* ---- writing ---- */

static void put_gauge(FILE *out, const char *name, const char *help, const char *labels, long long value)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n%s%s %lld\n", name, help, name, name, labels, value);
}

/* {key="value"} as the library writes it. */
static char *label_text(const struct cli_metrics_file *file)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL)
        return NULL;
    if (file->key[0] != '\0') {
        fprintf(out, "{%s=\"", file->key);
        for (const char *at = file->value; *at != '\0'; at++)
            if (*at == '\n')
                fputs("\\n", out);
            else
                fprintf(out, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
        fputs("\"}", out);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static bool put_run(const struct cli_metrics_file *file, int exit_code, FILE *out)
{
    char *labels = label_text(file);

    if (labels == NULL)
        return false;
    put_gauge(out, "redlock_run_running", "1 while the command holds its lock.", labels, exit_code < 0);
    put_gauge(out, "redlock_run_exit_code", "Exit code of the last run; -1 while it goes on.", labels,
              exit_code);
    put_gauge(out, "redlock_run_written_timestamp_seconds", "When this file was written.", labels,
              (long long)(cli_clock_wall() / 1000));
    free(labels);
    return true;
}

static bool put_client(const struct cli_metrics_file *file, redlock_client *client, FILE *out)
{
    redlock_label label = {file->key, file->value};
    redlock_result result = REDLOCK_INVALID;
    size_t length = 0;
    char *text = NULL;

    for (int round = 0; round < 4 && result == REDLOCK_INVALID; round++) {
        size_t size = length == 0 ? 65536 : length + 4096;
        free(text);
        text = malloc(size);
        if (text == NULL)
            return false;
        result = redlock_stats_prometheus(client, &label, file->key[0] != '\0', text, size, &length);
    }
    bool written = result == REDLOCK_OK && fwrite(text, 1, length, out) == length;
    free(text);
    return written;
}

/* No fsync: what a crash loses, the next write brings back. */
static bool write_whole(const struct cli_metrics_file *file, const char *path, redlock_client *client,
                        int exit_code)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

    if (out == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    bool written = put_run(file, exit_code, out) && put_client(file, client, out);
    bool flushed = fflush(out) == 0 && ferror(out) == 0;
    int error = errno;
    fclose(out);
    errno = error;
    return written && flushed;
}

void cli_metrics_file_write(struct cli_metrics_file *file, redlock_client *client, int exit_code)
{
    char path[PATH_MAX_BYTES];

    int64_t now = cli_clock_now();

    /* A renewal that fails is tried again many times a second. */
    if (file->path == NULL || client == NULL ||
        (exit_code < 0 && file->written_ms != 0 && now - file->written_ms < 1000))
        return;
    file->written_ms = now;
    /* The collector reads *.prom only; this name ends otherwise. */
    snprintf(path, sizeof path, "%s.%ld.tmp", file->path, (long)getpid());
    errno = 0;
    if (write_whole(file, path, client, exit_code) && rename(path, file->path) == 0)
        return;
    int error = errno;
    if (error != EEXIST)
        unlink(path);
    if (!file->warned)
        cli_output_warn("--metrics-file %s could not be written: %s; the lock is not affected", file->path,
                        error == 0 ? "out of memory" : strerror(error));
    file->warned = true;
}
