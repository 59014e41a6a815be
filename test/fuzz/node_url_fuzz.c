/*
 * Takes any bytes for a node's URL. Whatever is accepted must be shown in a form that is accepted again and
 * shown the same, with the same address and without credentials; it does not judge which texts ought to be
 * accepted.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/node_url.h"

#define CHECK(fact) ((fact) ? (void)0 : (fprintf(stderr, "does not hold: %s\n", #fact), abort()))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_lower_text(const char *text)
{
    return text[0] != '\0' && strchr(text, '\n') == NULL && !(text[0] >= 'A' && text[0] <= 'Z');
}

static int same_ignoring_capitals(const char *one, const char *other)
{
    for (; *one != '\0' && *other != '\0'; one++, other++)
        if (*one != *other && ((*one ^ *other) != 0x20 || (*one | 0x20) < 'a' || (*one | 0x20) > 'z'))
            return 0;
    return *one == *other;
}

static void check_ranges(const struct rl_node_url *url)
{
    int is_unix = url->transport == RL_TRANSPORT_UNIX;

    CHECK(url->db <= 65535);
    CHECK(is_unix ? url->path[0] == '/' : url->path[0] == '\0');
    CHECK(is_unix ? url->host[0] == '\0' : url->host[0] != '\0');
    CHECK(is_unix || url->port > 0);
    CHECK(url->has_password || (url->user[0] == '\0' && url->password[0] == '\0'));
}

/* Printable, and no separator of lists: it can be put into logs and back into a list of nodes. */
static void check_display_characters(const char *display)
{
    for (; *display != '\0'; display++)
        CHECK(*display > ' ' && *display < 0x7f && *display != ',');
}

static void check_shown_again(const struct rl_node_url *url)
{
    struct rl_node_url again;

    CHECK(rl_node_url_parse(url->display, strlen(url->display), &again) == NULL);
    CHECK(strcmp(again.display, url->display) == 0);
    CHECK(again.transport == url->transport && again.port == url->port && again.db == url->db);
    CHECK(same_ignoring_capitals(again.host, url->host));
    CHECK(strcmp(again.path, url->path) == 0);
    /* What is shown has no credentials in it, so none come back. */
    CHECK(!again.has_password);
}

/* The same URL with other credentials is shown the same. */
static void check_credentials_do_not_show(const struct rl_node_url *url)
{
    const char *address = strstr(url->display, "://") + 3;
    struct rl_node_url secret;
    char text[256];

    snprintf(text, sizeof(text), "%.*sname:hunter2@%s", (int)(address - url->display), url->display, address);
    CHECK(rl_node_url_parse(text, strlen(text), &secret) == NULL);
    CHECK(strcmp(secret.password, "hunter2") == 0);
    CHECK(strcmp(secret.display, url->display) == 0);
}

static void check_list(const uint8_t *data, size_t size)
{
    char *list = malloc(size + 1);
    const char *cursor = list;
    const char *url;
    size_t length;

    CHECK(list != NULL);
    memcpy(list, data, size);
    list[size] = '\0';
    while ((url = rl_node_url_next(&cursor, &length)) != NULL) {
        CHECK(length > 0 && url >= list && url + length <= list + size);
        CHECK(memchr(url, ',', length) == NULL && memchr(url, ' ', length) == NULL);
    }
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rl_node_url url;
    const char *wrong = rl_node_url_parse((const char *)data, size, &url);

    check_list(data, size);
    if (wrong != NULL) {
        CHECK(is_lower_text(wrong));
        CHECK(url.display[0] == '\0' && url.password[0] == '\0');
        return 0;
    }
    check_ranges(&url);
    check_display_characters(url.display);
    check_shown_again(&url);
    check_credentials_do_not_show(&url);
    return 0;
}
