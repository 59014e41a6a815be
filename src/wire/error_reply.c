/*
 * The table of error classes; see error_reply.h. All of these mean that the command was not executed.
 */
#include "wire/error_reply.h"

#include <string.h>

static const struct {
    const char *word;
    enum rl_cause cause;
} classes[] = {
    {"NOAUTH", RL_CAUSE_CREDENTIALS},  {"WRONGPASS", RL_CAUSE_CREDENTIALS},
    {"NOPERM", RL_CAUSE_RIGHTS},       {"WRONGTYPE", RL_CAUSE_FOREIGN_TYPE},
    {"READONLY", RL_CAUSE_REPLICA},    {"OOM", RL_CAUSE_MEMORY},
    {"LOADING", RL_CAUSE_LOADING},     {"MASTERDOWN", RL_CAUSE_LOADING},
    {"BUSY", RL_CAUSE_SCRIPT},         {"MISCONF", RL_CAUSE_DISK},
    {"NOREPLICAS", RL_CAUSE_DISK},     {"MOVED", RL_CAUSE_CLUSTER},
    {"ASK", RL_CAUSE_CLUSTER},         {"CROSSSLOT", RL_CAUSE_CLUSTER},
    {"CLUSTERDOWN", RL_CAUSE_CLUSTER}, {"TRYAGAIN", RL_CAUSE_CLUSTER},
};

bool rl_error_is(const char *text, size_t length, const char *word)
{
    size_t word_length = strlen(word);

    return length >= word_length && memcmp(text, word, word_length) == 0 &&
           (length == word_length || text[word_length] == ' ');
}

/* Errors raised inside a script have the script's place in front on old servers, and then, before Redis 7, a
 * dash: "@user_script: 1: -OOM command not allowed". Look for the word there too. */
static bool mentions_after_colon(const char *text, size_t length, const char *word)
{
    for (size_t i = 0; i + 2 < length; i++) {
        size_t start = i + 2 + (text[i + 2] == '-');
        if (text[i] == ':' && text[i + 1] == ' ' && rl_error_is(text + start, length - start, word))
            return true;
    }
    return false;
}

static bool begins_with(const char *text, size_t length, const char *words)
{
    return length >= strlen(words) && memcmp(text, words, strlen(words)) == 0;
}

size_t rl_error_place(const char *text, size_t length)
{
    static const char where[] = "@user_script:";
    size_t place = 0;

    if (!begins_with(text, length, "ERR Error running script "))
        return 0;
    for (size_t i = 0; i < length; i++) {
        size_t end = i + sizeof where - 1;

        if (!begins_with(text + i, length - i, where))
            continue;
        while (end < length && (text[end] == ' ' || (text[end] >= '0' && text[end] <= '9')))
            end++;
        if (begins_with(text + end, length - end, ": "))
            place = end + 2;
    }
    return place;
}

/* A right that a script lacks is told in words instead of a class of its own. */
static bool lacks_rights_in_script(const char *text, size_t length)
{
    static const char error[] = "ERR ";
    size_t start;

    if (length == 0) /* then there may be no text at all */
        return false;
    start = rl_error_place(text, length);
    if (start == 0 && begins_with(text, length, error))
        start = sizeof error - 1;
    return begins_with(text + start, length - start, "The user executing the script can't") ||
           begins_with(text + start, length - start, "ACL failure in script");
}

enum rl_cause rl_error_cause(const char *text, size_t length)
{
    if (lacks_rights_in_script(text, length))
        return RL_CAUSE_RIGHTS;
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (rl_error_is(text, length, classes[i].word) || mentions_after_colon(text, length, classes[i].word))
            return classes[i].cause;
    return RL_CAUSE_ERROR;
}

struct rl_answer rl_error_answer(const char *text, size_t length)
{
    struct rl_answer answer = {.verdict = RL_FAILED, .ttl_left_ms = -2};

    answer.cause = rl_error_cause(text, length);
    if (answer.cause == RL_CAUSE_FOREIGN_TYPE)
        answer.verdict = RL_DENIED;
    if (answer.cause == RL_CAUSE_REPLICA)
        answer.verdict = RL_INELIGIBLE;
    return answer;
}
