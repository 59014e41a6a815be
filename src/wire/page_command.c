/*
 * Bytes of the question for a page of locks; see page_command.h and wire/lua/list.lua.
 */
#include "wire/page_command.h"

#include <string.h>

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

bool rl_page_next(struct rl_page_answer *answer, struct rl_page_entry *entry)
{
    struct rl_resp name, foreign;

    if (answer->left == 0)
        return false;
    answer->left--;
    if (rl_resp_next(answer->bytes, answer->length, &answer->offset, &name) != RL_RESP_OK ||
        name.type != RL_RESP_STRING ||
        rl_resp_next(answer->bytes, answer->length, &answer->offset, &foreign) != RL_RESP_OK ||
        foreign.type != RL_RESP_INTEGER) {
        answer->left = 0;
        return false;
    }
    *entry = (struct rl_page_entry){
        .key = name.text, .key_length = name.text_length, .foreign = foreign.integer != 0};
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
