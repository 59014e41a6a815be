/*
 * Node URLs: what they are taken apart into, how they are shown, and what is said about wrong ones.
 * No name is resolved here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/node_url.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Parses a copy of exactly the text's size, so that the sanitizer sees a read beyond it. */
static const char *parse(const char *text, struct rl_node_url *url)
{
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    const char *wrong;

    assert_non_null(copy);
    memcpy(copy, text, length);
    memset(url, 0x5a, sizeof(*url));
    wrong = rl_node_url_parse(copy, length, url);
    free(copy);
    return wrong;
}

static struct rl_node_url parse_good(const char *text)
{
    struct rl_node_url url;
    const char *wrong = parse(text, &url);

    if (wrong != NULL)
        fail_msg("%s: %s", text, wrong);
    return url;
}

static void every_form_is_shown_in_its_normal_form(void **state)
{
    static const struct {
        const char *text, *display;
    } forms[] = {
        {"b", "redis://b:6379"},
        {"b:7000", "redis://b:7000"},
        {"redis://b", "redis://b:6379"},
        {"redis://b:6379", "redis://b:6379"},
        {"redis://b/", "redis://b:6379"},
        {"redis://b/0", "redis://b:6379"},
        {"redis://b/2", "redis://b:6379/2"},
        {"redis://b:1/65535", "redis://b:1/65535"},
        {"redis://b:06379/02", "redis://b:6379/2"},
        {"REDIS://Node-1.Example.COM:65535", "redis://node-1.example.com:65535"},
        {"rediss://b", "rediss://b:6379"},
        {"valkey://b", "redis://b:6379"},
        {"valkeys://b:6380", "rediss://b:6380"},
        {"redis://10.0.0.1", "redis://10.0.0.1:6379"},
        {"redis_1", "redis://redis_1:6379"},
        {"redis://%62", "redis://b:6379"},
        {"[::1]", "redis://[::1]:6379"},
        {"[::1]:7000", "redis://[::1]:7000"},
        {"rediss://[::1]:6380", "rediss://[::1]:6380"},
        {"redis://[2001:DB8::A]/3", "redis://[2001:db8::a]:6379/3"},
        {"redis://[::ffff:10.0.0.1]", "redis://[::ffff:10.0.0.1]:6379"},
        {"redis://[FE80::1%25En0]", "redis://[fe80::1%25En0]:6379"},
        {"unix:///run/x.sock", "unix:///run/x.sock"},
        {"UNIX:///run/X.sock", "unix:///run/X.sock"},
        {"unix:///run/x.sock?db=0", "unix:///run/x.sock"},
        {"unix:///run/x.sock?db=2", "unix:///run/x.sock?db=2"},
        {"unix:///run/x@1#2.sock", "unix:///run/x@1#2.sock"},
        {"unix:///a%20b%2Cc%3fd%25e", "unix:///a%20b%2Cc%3Fd%25e"},
        {"unix:///\xc3\xa9", "unix:///%C3%A9"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(forms); i++) {
        struct rl_node_url url = parse_good(forms[i].text);

        assert_string_equal(url.display, forms[i].display);
        assert_string_equal(parse_good(url.display).display, forms[i].display);
    }
}

static void parts_are_told_apart_and_decoded(void **state)
{
    struct rl_node_url url = parse_good("rediss://al%69ce:p%40ss:w@rd%2f@Node:7000/5");

    (void)state;
    assert_int_equal(url.transport, RL_TRANSPORT_TLS);
    assert_string_equal(url.host, "Node");
    assert_int_equal(url.port, 7000);
    assert_int_equal(url.db, 5);
    assert_string_equal(url.user, "alice");
    assert_string_equal(url.password, "p@ss:w@rd/");
    assert_true(url.has_password);
    assert_string_equal(url.path, "");
    assert_string_equal(url.display, "rediss://node:7000/5");
}

static void defaults_are_filled_in(void **state)
{
    struct rl_node_url url = parse_good("b");

    (void)state;
    assert_int_equal(url.transport, RL_TRANSPORT_TCP);
    assert_int_equal(url.port, 6379);
    assert_int_equal(url.db, 0);
    assert_false(url.has_password);
    assert_string_equal(url.user, "");
    assert_string_equal(url.password, "");
}

static void a_socket_has_a_path_and_no_host(void **state)
{
    struct rl_node_url url = parse_good("unix://bob:secret@/run/a%20b.sock?db=15");

    (void)state;
    assert_int_equal(url.transport, RL_TRANSPORT_UNIX);
    assert_string_equal(url.path, "/run/a b.sock");
    assert_string_equal(url.host, "");
    assert_string_equal(url.user, "bob");
    assert_string_equal(url.password, "secret");
    assert_int_equal(url.db, 15);
    assert_string_equal(url.display, "unix:///run/a%20b.sock?db=15");
}

static void a_password_needs_no_user_and_may_be_empty(void **state)
{
    struct rl_node_url url = parse_good("redis://:secret@b");

    (void)state;
    assert_string_equal(url.user, "");
    assert_string_equal(url.password, "secret");
    assert_true(url.has_password);

    url = parse_good("redis://bob:@b");
    assert_string_equal(url.user, "bob");
    assert_string_equal(url.password, "");
    assert_true(url.has_password);
}

static void brackets_are_not_part_of_the_host(void **state)
{
    (void)state;
    assert_string_equal(parse_good("redis://:p@[::1]:7000").host, "::1");
    assert_string_equal(parse_good("redis://[fe80::1%25eth0]").host, "fe80::1%eth0");
}

/* URLs that are no good, and what is said of each. */
static const struct {
    const char *text, *wrong;
} mistakes[] = {
    {"", "url is empty"},
    {"redis://", "host is missing"},
    {"redis://:7000", "host is missing"},
    {"redis://:secret@", "host is missing"},
    {"redis:///2", "host is missing"},
    {":7000", "host is missing"},
    {"6379", "host is only a number; write host:port"},
    {"redis://b b", "spaces and control characters are not allowed; write them as %20 and the like"},
    {" b", "spaces and control characters are not allowed; write them as %20 and the like"},
    {"b\n", "spaces and control characters are not allowed; write them as %20 and the like"},
    {"b\x7f", "spaces and control characters are not allowed; write them as %20 and the like"},
    {"redis://a%20b", "host has a character that no host name has"},
    {"redis://b\xc3\xa9", "host has a character that no host name has"},
    {"redis://a,b", "host has a character that no host name has"},
    {"redis://[::1", "the bracket around the address is not closed"},
    {"redis://[]", "what is in brackets is not an IPv6 address"},
    {"redis://[b]", "what is in brackets is not an IPv6 address"},
    {"redis://[10.0.0.1]", "what is in brackets is not an IPv6 address"},
    {"redis://[::1%25]", "what is in brackets is not an IPv6 address"},
    {"redis://[::1%25a%25b]", "what is in brackets is not an IPv6 address"},
    {"redis://[::1]7000", "something other than a port follows the bracket"},
    {"redis://::1", "put the address in brackets: redis://[::1]:6379"},
    {"::1", "put the address in brackets: redis://[::1]:6379"},
    {"2001:db8::1:6379", "put the address in brackets: redis://[::1]:6379"},
    {"b:", "port is not between 1 and 65535"},
    {"b:0", "port is not between 1 and 65535"},
    {"b:65536", "port is not between 1 and 65535"},
    {"b:99999999999999999999", "port is not between 1 and 65535"},
    {"b:-1", "port is not between 1 and 65535"},
    {"b:+1", "port is not between 1 and 65535"},
    {"b:redis", "port is not between 1 and 65535"},
    {"[::1]:", "port is not between 1 and 65535"},
    {"redis://b/x", "database is not a number between 0 and 65535"},
    {"redis://b/-1", "database is not a number between 0 and 65535"},
    {"redis://b/1/", "database is not a number between 0 and 65535"},
    {"redis://b/65536", "database is not a number between 0 and 65535"},
    {"redis://b/4294967296", "database is not a number between 0 and 65535"},
    {"redis://b?db=2",
     "unknown query parameter; only ?durable=yes is known (a database: redis://host:port/2)"},
    {"redis://b/2?", "unknown query parameter; only ?durable=yes is known (a database: redis://host:port/2)"},
    {"redis://b/2?durable=no",
     "unknown query parameter; only ?durable=yes is known (a database: redis://host:port/2)"},
    {"unix:///x?", "unknown query parameter; only ?db=N and ?durable=yes are known"},
    {"unix:///x?timeout=3", "unknown query parameter; only ?db=N and ?durable=yes are known"},
    {"unix:///x?db=", "database is not a number between 0 and 65535"},
    {"unix:///x?db=1&db=2", "the database is given twice"},
    {"unix://", "a socket is written with its whole path: unix:///path/to/socket"},
    {"unix:///", "a socket is written with its whole path: unix:///path/to/socket"},
    {"unix:///run/", "a socket is written with its whole path: unix:///path/to/socket"},
    {"unix:///run%2f", "a socket is written with its whole path: unix:///path/to/socket"},
    {"unix://run/x.sock", "a socket is written with its whole path: unix:///path/to/socket"},
    {"unix://:secret@", "a socket is written with its whole path: unix:///path/to/socket"},
    {"unix:/run/x.sock", "a socket is written with its whole path: unix:///path/to/socket"},
    {"/run/x.sock", "a socket is written with its whole path: unix:///path/to/socket"},
    {"redis://secret@b", "credentials are written as user:password@ or :password@"},
    {"redis://@b", "credentials are written as user:password@ or :password@"},
    {"redis://:a/b@b", "a / or ? in a password is written as %2F or %3F"},
    {"redis://:a?b@b", "a / or ? in a password is written as %2F or %3F"},
    {"redis://:100%@b", "a % is not followed by two hexadecimal digits (write % itself as %25)"},
    {"redis://:%2@b", "a % is not followed by two hexadecimal digits (write % itself as %25)"},
    {"redis://:%g0@b", "a % is not followed by two hexadecimal digits (write % itself as %25)"},
    {"redis://[fe80::1%eth0]", "a % is not followed by two hexadecimal digits (write % itself as %25)"},
    {"redis://:a%00b@b", "%00 cannot be part of a node's url"},
    {"unix:///a%00b", "%00 cannot be part of a node's url"},
    {"bob:secret@b", "more than host:port needs redis:// in front"},
    {"b:6379/2", "more than host:port needs redis:// in front"},
    {"http://b:6379", "a node speaks the redis protocol, not http: write redis://host:port"},
    {"https://b", "a node speaks the redis protocol, not http: write redis://host:port"},
    {"sentinel://b", "unknown scheme; known are redis://, rediss://, valkey://, valkeys:// and unix://"},
    {"redis+tls://b", "unknown scheme; known are redis://, rediss://, valkey://, valkeys:// and unix://"},
};

static void each_mistake_gets_its_own_advice(void **state)
{
    static const struct rl_node_url nothing;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(mistakes); i++) {
        struct rl_node_url url;
        const char *wrong = parse(mistakes[i].text, &url);

        if (wrong == NULL)
            fail_msg("accepted: %s", mistakes[i].text);
        assert_string_equal(wrong, mistakes[i].wrong);
        /* Nothing is left of a wrong URL: it may hold a password. */
        assert_memory_equal(&url, &nothing, sizeof(url));
    }
}

static void a_durable_node_is_declared_in_its_url(void **state)
{
    static const struct {
        const char *text;
        bool durable;
        unsigned db;
    } urls[] = {{"redis://b", false, 0},
                {"redis://b?durable=yes", true, 0},
                {"rediss://b:6380/3?durable=yes", true, 3},
                {"unix:///x?durable=yes", true, 0},
                {"unix:///x?db=2&durable=yes", true, 2},
                {"unix:///x?durable=yes&db=2", true, 2}};

    (void)state;
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct rl_node_url url;

        assert_null(parse(urls[i].text, &url));
        assert_int_equal(url.durable, urls[i].durable);
        assert_int_equal(url.db, urls[i].db);
        assert_null(strstr(url.display, "durable")); /* the same node, declared or not */
    }
}

static void a_nul_byte_is_refused(void **state)
{
    struct rl_node_url url;

    (void)state;
    assert_non_null(rl_node_url_parse("a\0b", 3, &url));
}

/* Parses prefix, `count` times the filler, and suffix. */
static const char *parse_long(const char *prefix, const char *filler, size_t count, const char *suffix)
{
    char text[2048] = "";
    struct rl_node_url url;
    size_t i;

    strcat(text, prefix);
    for (i = 0; i < count; i++)
        strcat(text, filler);
    strcat(text, suffix);
    return parse(text, &url);
}

static void parts_may_be_as_long_as_they_fit_and_no_longer(void **state)
{
    (void)state;
    assert_null(parse_long("rediss://", "h", 134, ":65535/65535"));
    assert_string_equal(parse_long("rediss://", "h", 135, ""), "host is too long (at most 134 bytes)");
    assert_null(parse_long("rediss://[::1%25", "z", 130, "]:65535/65535"));
    assert_null(parse_long("redis://", "u", 127, ":p@b"));
    assert_string_equal(parse_long("redis://", "u", 128, ":p@b"), "user is too long (at most 127 bytes)");
    assert_null(parse_long("redis://:", "%70", 511, "@b"));
    assert_string_equal(parse_long("redis://:", "p", 512, "@b"), "password is too long (at most 511 bytes)");
    assert_null(parse_long("unix:///", "p", 106, "?db=65535"));
    assert_string_equal(parse_long("unix:///", "p", 107, ""),
                        "path of the socket is too long (at most 107 bytes)");
    assert_string_equal(parse_long("unix:///", "%20", 51, ""),
                        "path of the socket has too many characters that need escapes");
}

static void credentials_are_never_shown(void **state)
{
    static const char *const texts[] = {
        "redis://hunter2:hunter2@b:7000/1",
        "rediss://:hunter2@[::1]",
        "unix://hunter2:hunter2@/run/x.sock?db=1",
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT(texts); i++)
        assert_null(strstr(parse_good(texts[i]).display, "hunter2"));
}

static void a_list_is_separated_by_commas_and_white_space(void **state)
{
    const char *cursor = " ,a:1, redis://b\n\tunix:///c,,d ";
    static const char *const expected[] = {"a:1", "redis://b", "unix:///c", "d"};
    size_t length, i;

    (void)state;
    for (i = 0; i < COUNT(expected); i++) {
        const char *url = rl_node_url_next(&cursor, &length);

        assert_non_null(url);
        assert_int_equal(length, strlen(expected[i]));
        assert_memory_equal(url, expected[i], length);
    }
    assert_null(rl_node_url_next(&cursor, &length));
    assert_null(rl_node_url_next(&cursor, &length));
}

static void an_empty_list_has_no_url(void **state)
{
    static const char *const lists[] = {"", " ", ",", " ,\n"};
    size_t length, i;

    (void)state;
    for (i = 0; i < COUNT(lists); i++) {
        const char *cursor = lists[i];

        assert_null(rl_node_url_next(&cursor, &length));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_shown_in_its_normal_form),
        cmocka_unit_test(parts_are_told_apart_and_decoded),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(a_socket_has_a_path_and_no_host),
        cmocka_unit_test(a_password_needs_no_user_and_may_be_empty),
        cmocka_unit_test(brackets_are_not_part_of_the_host),
        cmocka_unit_test(each_mistake_gets_its_own_advice),
        cmocka_unit_test(a_durable_node_is_declared_in_its_url),
        cmocka_unit_test(a_nul_byte_is_refused),
        cmocka_unit_test(parts_may_be_as_long_as_they_fit_and_no_longer),
        cmocka_unit_test(credentials_are_never_shown),
        cmocka_unit_test(a_list_is_separated_by_commas_and_white_space),
        cmocka_unit_test(an_empty_list_has_no_url),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
