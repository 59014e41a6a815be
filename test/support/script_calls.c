/*
 * Calling scripts on a real node; see script_calls.h.
 */
#include "support/script_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/guarded.h"
#include "wire/resp_reader.h"

const char *call_script(struct fleet *fleet, const struct rl_script *script, const char *key_count,
                        const char **words, int word_count)
{
    const char *all[24] = {"EVAL", script->text, key_count};

    memcpy(all + 3, words, (size_t)word_count * sizeof *words);
    return fleet_command_bytes(fleet, 0, 3 + word_count, all, NULL);
}

int64_t number_at(const char *answer, int line)
{
    char *end;
    int64_t number;

    for (; line > 0; line--) {
        answer = strchr(answer, '\n');
        assert_non_null(answer);
        answer++;
    }
    number = strtoll(answer, &end, 10);
    if (end == answer || (*end != '\n' && *end != '\0'))
        fail_msg("not a number: %s", answer);
    return number;
}

int count_lines(const char *answer)
{
    int count = 1;

    for (; *answer != '\0'; answer++)
        count += *answer == '\n';
    return count;
}

const char *decimal(int64_t number)
{
    static char buffers[8][24];
    static unsigned next;
    char *buffer = buffers[next++ % 8];

    snprintf(buffer, sizeof buffers[0], "%" PRId64, number);
    return buffer;
}

int64_t node_now(struct fleet *fleet)
{
    const char *answer = fleet_command(fleet, 0, "TIME", NULL);

    return number_at(answer, 0) * SECOND_US + number_at(answer, 1);
}

void plant(struct fleet *fleet, const char *key, const char *value)
{
    assert_string_equal(fleet_command(fleet, 0, "SET", key, value, NULL), "OK");
}

void assert_value(struct fleet *fleet, const char *key, const char *value)
{
    assert_string_equal(fleet_command(fleet, 0, "GET", key, NULL), value);
}

int64_t ttl_of(struct fleet *fleet, const char *key)
{
    return number_at(fleet_command(fleet, 0, "PTTL", key, NULL), 0);
}

void plant_guard(struct fleet *fleet)
{
    plant(fleet, EPOCH_KEY, EPOCH);
    plant(fleet, FLOOR_KEY, "5");
}

int flush_node(void **state)
{
    fleet_command(*state, 0, "FLUSHALL", NULL);
    return 0;
}

int expect_no_lock(void **state)
{
    return count_lock_keys(*state, 0) == 0 ? 0 : -1;
}

void send_request(struct fleet *fleet, const struct rl_writer *request, char *text, size_t size)
{
    size_t offset = 0, used = 0;

    text[0] = '\0';
    while (offset < request->length) {
        struct rl_resp head, item;
        const char *words[REQUEST_WORDS_MAX];
        size_t lengths[REQUEST_WORDS_MAX];

        assert_int_equal(rl_resp_next(request->bytes, request->length, &offset, &head), RL_RESP_OK);
        assert_in_range(head.element_count, 1, REQUEST_WORDS_MAX);
        for (uint32_t i = 0; i < head.element_count; i++) {
            assert_int_equal(rl_resp_next(request->bytes, request->length, &offset, &item), RL_RESP_OK);
            words[i] = item.text;
            lengths[i] = item.text_length;
        }
        used += (size_t)snprintf(text + used, size - used, "%s\n",
                                 fleet_command_bytes(fleet, 0, (int)head.element_count, words, lengths));
        assert_true(used < size);
    }
}
