/*
 * Listens to log and trace; see listener.h.
 */
#include "support/listener.h"

#include <stdio.h>
#include <string.h>

static void hear(struct listener *listener, const char *line)
{
    size_t used;

    pthread_mutex_lock(&listener->mutex);
    used = strlen(listener->text);
    snprintf(listener->text + used, sizeof listener->text - used, "%s\n", line);
    listener->lines++;
    if (line[0] == '\0' || strchr(line, '\n') != NULL)
        listener->broken_lines++;
    pthread_mutex_unlock(&listener->mutex);
}

void listener_hear_log(void *context, redlock_log_level level, const char *line)
{
    (void)level;
    hear(context, line);
}

void listener_hear_trace(void *context, const char *line)
{
    hear(context, line);
}

bool listener_heard(struct listener *listener, const char *words)
{
    return listener_count(listener, words) > 0;
}

static int count_until(const char *text, const char *end, const char *words)
{
    int count = 0;

    while (text < end) {
        const char *line_end = strchr(text, '\n');
        const char *found = strstr(text, words);

        if (line_end == NULL)
            break;
        count += found != NULL && found < line_end;
        text = line_end + 1;
    }
    return count;
}

int listener_count(struct listener *listener, const char *words)
{
    int count;

    pthread_mutex_lock(&listener->mutex);
    count = count_until(listener->text, listener->text + strlen(listener->text), words);
    pthread_mutex_unlock(&listener->mutex);
    return count;
}

int listener_count_before(struct listener *listener, const char *words, const char *those)
{
    const char *end;
    int count = -1;

    pthread_mutex_lock(&listener->mutex);
    end = strstr(listener->text, those);
    if (end != NULL)
        count = count_until(listener->text, end, words);
    pthread_mutex_unlock(&listener->mutex);
    return count;
}

void listener_forget(struct listener *listener)
{
    pthread_mutex_lock(&listener->mutex);
    listener->text[0] = '\0';
    listener->lines = listener->broken_lines = 0;
    pthread_mutex_unlock(&listener->mutex);
}

void listener_show(struct listener *listener)
{
    pthread_mutex_lock(&listener->mutex);
    fputs(listener->text, stderr);
    pthread_mutex_unlock(&listener->mutex);
}
