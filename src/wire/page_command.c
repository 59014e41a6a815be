/*
 * Bytes of the question for a page of locks; see page_command.h and wire/lua/list.lua.
 */
#include "wire/page_command.h"

#include <string.h>

#include "core/event.h"
#include "wire/error_reply.h"
#include "wire/resp_reader.h"

void rl_page_write(struct rl_writer *writer, const struct rl_script *list, const struct rl_page *page,
                   bool full)
{
    rl_write_command(writer, 7);
    rl_write_script(writer, list, full);
    rl_write_text(writer, "0");
    rl_write_text(writer, page->cursor);
    rl_write_bytes(writer, page->pattern, page->pattern_length);
    rl_write_integer(writer, page->count);
    rl_write_text(writer, page->foreign ? "1" : "0");
}

static bool is_cursor(const struct rl_resp *item)
{
    if (item->type != RL_RESP_STRING || item->text_length > RL_PAGE_CURSOR_MAX)
        return false;
    for (size_t i = 0; i < item->text_length; i++)
        if (item->text[i] < '0' || item->text[i] > '9')
            return false;
    return true;
}

static enum rl_page_reading read_error(struct rl_page_answer *answer, const struct rl_resp *item)
{
    answer->error = item->text;
    answer->error_length = item->text_length;
    return rl_error_is(item->text, item->text_length, "NOSCRIPT") ? RL_PAGE_NO_SCRIPT : RL_PAGE_ERROR;
}

enum rl_page_reading rl_page_read(struct rl_page_answer *answer, const char *bytes, size_t length)
{
    struct rl_resp head, now, cursor;

    *answer = (struct rl_page_answer){.bytes = bytes, .length = length};
    if (rl_resp_next(bytes, length, &answer->offset, &head) != RL_RESP_OK)
        return RL_PAGE_NONSENSE;
    if (head.type == RL_RESP_ERROR)
        return read_error(answer, &head);
    if (head.type != RL_RESP_ARRAY || head.element_count < 2 || head.element_count % 2 != 0 ||
        rl_resp_next(bytes, length, &answer->offset, &now) != RL_RESP_OK || now.type != RL_RESP_INTEGER ||
        rl_resp_next(bytes, length, &answer->offset, &cursor) != RL_RESP_OK || !is_cursor(&cursor))
        return RL_PAGE_NONSENSE;
    if (cursor.text_length == 0)
        return RL_PAGE_TOO_MUCH;
    memcpy(answer->cursor, cursor.text, cursor.text_length);
    answer->cursor[cursor.text_length] = '\0';
    answer->left = head.element_count / 2 - 1;
    return RL_PAGE_WHOLE;
}

/* ---- semaphores: "4 1-2,4" ---- */

static bool read_slot_number(struct rl_page_answer *answer, uint32_t *number)
{
    uint32_t value = 0;

    while (answer->slots_length > 0 && *answer->slots >= '0' && *answer->slots <= '9' &&
           value <= RL_SLOTS_MAX) {
        value = 10 * value + (uint32_t)(*answer->slots - '0');
        answer->slots++;
        answer->slots_length--;
    }
    *number = value;
    return value >= 1 && value <= RL_SLOTS_MAX;
}

static bool read_mark(struct rl_page_answer *answer, char mark)
{
    if (answer->slots_length == 0 || *answer->slots != mark)
        return false;
    answer->slots++;
    answer->slots_length--;
    return true;
}

/* The next range of slots, above those before it; false: there is none, or it makes no sense. */
static bool read_range(struct rl_page_answer *answer)
{
    uint32_t before = answer->last_slot;

    if (before > 0 && !read_mark(answer, ','))
        return false;
    if (!read_slot_number(answer, &answer->slot) || answer->slot <= before)
        return false;
    answer->last_slot = answer->slot;
    if (read_mark(answer, '-') && !read_slot_number(answer, &answer->last_slot))
        return false;
    return answer->last_slot >= answer->slot && answer->last_slot <= answer->permits;
}

static bool begin_slots(struct rl_page_answer *answer, const struct rl_resp *name,
                        const struct rl_resp *slots)
{
    answer->name = name->text;
    answer->name_length = name->text_length;
    answer->slots = slots->text;
    answer->slots_length = slots->text_length;
    answer->slot = answer->last_slot = 0;
    return read_slot_number(answer, &answer->permits) && read_mark(answer, ' ') && read_range(answer);
}

/* One slot more of the semaphore under way; false: that was all of it. */
static bool next_slot(struct rl_page_answer *answer, struct rl_page_entry *entry)
{
    if (answer->name == NULL || (answer->slot > answer->last_slot && !read_range(answer))) {
        answer->name = NULL;
        return false;
    }
    *entry = (struct rl_page_entry){.key = answer->name,
                                    .key_length = answer->name_length,
                                    .slot = answer->slot++,
                                    .permits = answer->permits};
    return true;
}

bool rl_page_next(struct rl_page_answer *answer, struct rl_page_entry *entry)
{
    struct rl_resp name, made_by;

    while (!next_slot(answer, entry)) {
        if (answer->left == 0)
            return false;
        answer->left--;
        if (rl_resp_next(answer->bytes, answer->length, &answer->offset, &name) != RL_RESP_OK ||
            name.type != RL_RESP_STRING ||
            rl_resp_next(answer->bytes, answer->length, &answer->offset, &made_by) != RL_RESP_OK ||
            (made_by.type != RL_RESP_INTEGER && made_by.type != RL_RESP_STRING)) {
            answer->left = 0;
            return false;
        }
        if (made_by.type == RL_RESP_INTEGER) {
            *entry = (struct rl_page_entry){
                .key = name.text, .key_length = name.text_length, .foreign = made_by.integer != 0};
            return true;
        }
        if (!begin_slots(answer, &name, &made_by))
            answer->name = NULL;
    }
    return true;
}

size_t rl_page_literal(char *pattern, const char *bytes, size_t length)
{
    static const char special[] = {'*', '?', '[', ']', '\\', '^', '-'};
    size_t written = 0;

    for (size_t i = 0; i < length; i++) {
        if (memchr(special, bytes[i], sizeof special) != NULL)
            pattern[written++] = '\\';
        pattern[written++] = bytes[i];
    }
    return written;
}
