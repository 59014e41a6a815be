/*
 * Takes a node's URL apart, strictly and with a word of advice for each mistake, and builds the form that
 * people are shown. It looks nothing up, and no message carries a part of the URL: it may hold a password.
 */
#include "wire/node_url.h"

#include <string.h>

#include "wire/resp_writer.h"
#include "wire/text_piece.h"

enum {
    PORT_DEFAULT = 6379,
    DB_MAX = 65535,
    HOST_MAX = 134 /* bytes: what the display has left beside "rediss://[%25]:65535/65535" */
};

static const char socket_advice[] = "a socket is written with its whole path: unix:///path/to/socket";

/* Of host names and zones. The underscore is not in the standard, but in use. */
static bool is_name_char(char c)
{
    return (rl_to_lower(c) >= 'a' && rl_to_lower(c) <= 'z') || rl_is_digit(c) || c == '-' || c == '.' ||
           c == '_';
}

static const char *read_db(struct rl_piece piece, struct rl_node_url *url)
{
    return rl_piece_number(piece, DB_MAX, &url->db) ? NULL : "database is not a number between 0 and 65535";
}

/* "user:password" or ":password". A password may hold further colons. */
static const char *read_credentials(struct rl_piece piece, struct rl_node_url *url)
{
    size_t colon = rl_piece_find(piece, ':');
    const char *wrong;

    if (colon == piece.length)
        return "credentials are written as user:password@ or :password@";
    wrong = rl_piece_decode(rl_piece_first(piece, colon), "user is too long (at most 127 bytes)", url->user,
                            sizeof(url->user));
    if (wrong != NULL)
        return wrong;
    url->has_password = true;
    return rl_piece_decode(rl_piece_rest(piece, colon + 1), "password is too long (at most 511 bytes)",
                           url->password, sizeof(url->password));
}

/* Takes the credentials off the front. They end at the last @: people do put one into a password. */
static const char *take_credentials(struct rl_piece *authority, struct rl_node_url *url)
{
    size_t end = authority->length;
    struct rl_piece credentials;

    while (end > 0 && authority->text[end - 1] != '@')
        end--;
    if (end == 0)
        return NULL;
    credentials = rl_piece_first(*authority, end - 1);
    *authority = rl_piece_rest(*authority, end);
    return read_credentials(credentials, url);
}

/* Looks like an IPv6 address: the resolver judges its groups. A zone may follow, as in fe80::1%eth0. */
static bool is_ipv6(struct rl_piece host)
{
    size_t zone = rl_piece_find(host, '%');
    size_t colon_count = 0;
    size_t i;

    for (i = 0; i < host.length; i++) {
        char c = host.text[i];

        if (i < zone ? rl_hex_value(c) < 0 && c != ':' && c != '.' : i > zone && !is_name_char(c))
            return false;
        colon_count += c == ':';
    }
    return colon_count >= 2 && zone + 1 != host.length;
}

static const char *check_name(struct rl_piece host)
{
    bool only_digits = true;
    size_t i;

    if (host.length == 0)
        return "host is missing";
    for (i = 0; i < host.length; i++) {
        if (!is_name_char(host.text[i]))
            return "host has a character that no host name has";
        only_digits = only_digits && rl_is_digit(host.text[i]);
    }
    return only_digits ? "host is only a number; write host:port" : NULL;
}

static const char *read_host(struct rl_piece piece, bool bracketed, struct rl_node_url *url)
{
    const char *wrong =
        rl_piece_decode(piece, "host is too long (at most 134 bytes)", url->host, HOST_MAX + 1);
    struct rl_piece host = {url->host, strlen(url->host)};

    if (wrong != NULL)
        return wrong;
    if (bracketed)
        return is_ipv6(host) ? NULL : "what is in brackets is not an IPv6 address";
    return check_name(host);
}

/* What follows the host: nothing, or a colon and the port. */
static const char *read_port(struct rl_piece piece, struct rl_node_url *url)
{
    uint32_t port = PORT_DEFAULT;

    if (piece.length > 0 && piece.text[0] != ':')
        return "something other than a port follows the bracket";
    if (piece.length > 0 && (!rl_piece_number(rl_piece_rest(piece, 1), UINT16_MAX, &port) || port == 0))
        return "port is not between 1 and 65535";
    url->port = (uint16_t)port;
    return NULL;
}

/* host, host:port, [address], [address]:port */
static const char *read_address(struct rl_piece piece, struct rl_node_url *url)
{
    bool bracketed = piece.length > 0 && piece.text[0] == '[';
    size_t end = rl_piece_find(piece, bracketed ? ']' : ':');
    const char *wrong;

    if (bracketed && end == piece.length)
        return "the bracket around the address is not closed";
    if (!bracketed && end < piece.length && rl_piece_has(rl_piece_rest(piece, end + 1), ':'))
        return "put the address in brackets: redis://[::1]:6379";
    if (bracketed)
        wrong = read_host((struct rl_piece){piece.text + 1, end - 1}, true, url);
    else
        wrong = read_host(rl_piece_first(piece, end), false, url);
    if (wrong != NULL)
        return wrong;
    return read_port(rl_piece_rest(piece, bracketed ? end + 1 : end), url);
}

/* ?durable=yes and, where there is no other place for it, ?db=N; several are joined by &. */
static const char *read_query(struct rl_piece query, bool with_db, struct rl_node_url *url)
{
    const char *wrong = NULL;
    bool has_db = false;

    while (query.length > 0 && wrong == NULL) {
        struct rl_piece field =
            rl_piece_first(rl_piece_rest(query, 1), rl_piece_find(rl_piece_rest(query, 1), '&'));

        if (with_db && rl_piece_starts(field, "db=")) {
            wrong =
                has_db ? "the database is given twice" : read_db(rl_piece_rest(field, strlen("db=")), url);
            has_db = true;
        } else if (rl_piece_starts(field, "durable=yes") && field.length == strlen("durable=yes"))
            url->durable = true;
        else
            wrong =
                with_db
                    ? "unknown query parameter; only ?db=N and ?durable=yes are known"
                    : "unknown query parameter; only ?durable=yes is known (a database: redis://host:port/2)";
        query = rl_piece_rest(query, field.length + 1);
    }
    return wrong;
}

/* [user:password@]host[:port][/db][?durable=yes] */
static const char *read_network(struct rl_piece piece, struct rl_node_url *url)
{
    size_t query = rl_piece_find(piece, '?');
    size_t slash = rl_piece_find(rl_piece_first(piece, query), '/');
    struct rl_piece authority = rl_piece_first(piece, slash);
    const char *wrong;

    if (rl_piece_has(rl_piece_rest(piece, slash), '@'))
        return "a / or ? in a password is written as %2F or %3F";
    wrong = read_query(rl_piece_rest(piece, query), false, url);
    if (wrong == NULL)
        wrong = take_credentials(&authority, url);
    if (wrong == NULL)
        wrong = read_address(authority, url);
    if (wrong == NULL && slash + 1 < query)
        wrong = read_db((struct rl_piece){piece.text + slash + 1, query - slash - 1}, url);
    return wrong;
}

/* [user:password@]/path[?db=N][&durable=yes] */
static const char *read_unix(struct rl_piece piece, struct rl_node_url *url)
{
    size_t query = rl_piece_find(piece, '?');
    size_t slash = rl_piece_find(rl_piece_first(piece, query), '/');
    struct rl_piece authority = rl_piece_first(piece, slash);
    struct rl_piece path = {piece.text + slash, query - slash};
    const char *wrong = take_credentials(&authority, url);

    if (wrong != NULL)
        return wrong;
    if (authority.length > 0 || path.length == 0)
        return socket_advice;
    wrong = rl_piece_decode(path, "path of the socket is too long (at most 107 bytes)", url->path,
                            sizeof(url->path));
    if (wrong != NULL)
        return wrong;
    if (url->path[strlen(url->path) - 1] == '/')
        return socket_advice;
    return read_query(rl_piece_rest(piece, query), true, url);
}

/* host or host:port, without a scheme. */
static const char *read_bare(struct rl_piece piece, struct rl_node_url *url)
{
    if (rl_piece_starts(piece, "/") || rl_piece_starts(piece, "unix:"))
        return socket_advice;
    if (rl_piece_has(piece, '/') || rl_piece_has(piece, '@') || rl_piece_has(piece, '?'))
        return "more than host:port needs redis:// in front";
    return read_address(piece, url);
}

/* The schemes; NULL ends them. */
static const struct scheme {
    const char *text;
    enum rl_transport transport;
} schemes[] = {
    {"redis://", RL_TRANSPORT_TCP},   {"rediss://", RL_TRANSPORT_TLS}, {"valkey://", RL_TRANSPORT_TCP},
    {"valkeys://", RL_TRANSPORT_TLS}, {"unix://", RL_TRANSPORT_UNIX},  {NULL, RL_TRANSPORT_TCP},
};

/* Whether "://" ends a word of letters at the start: then it is a scheme, and one we do not know. */
static bool has_scheme(struct rl_piece piece)
{
    size_t colon = rl_piece_find(piece, ':');

    return colon > 0 && rl_piece_starts(rl_piece_rest(piece, colon), "://") &&
           !rl_piece_has(rl_piece_first(piece, colon), '/');
}

static const char *read_url(struct rl_piece piece, struct rl_node_url *url)
{
    const struct scheme *scheme;

    for (scheme = schemes; scheme->text != NULL; scheme++) {
        if (!rl_piece_starts(piece, scheme->text))
            continue;
        piece = rl_piece_rest(piece, strlen(scheme->text));
        url->transport = scheme->transport;
        return scheme->transport == RL_TRANSPORT_UNIX ? read_unix(piece, url) : read_network(piece, url);
    }
    if (rl_piece_starts(piece, "http://") || rl_piece_starts(piece, "https://"))
        return "a node speaks the redis protocol, not http: write redis://host:port";
    if (has_scheme(piece))
        return "unknown scheme; known are redis://, rediss://, valkey://, valkeys:// and unix://";
    return read_bare(piece, url);
}

static const char *check_characters(struct rl_piece piece)
{
    size_t i;

    if (piece.length == 0)
        return "url is empty";
    for (i = 0; i < piece.length; i++)
        if ((unsigned char)piece.text[i] <= ' ' || piece.text[i] == 0x7f)
            return "spaces and control characters are not allowed; write them as %20 and the like";
    return NULL;
}

static void show_text(struct rl_writer *display, const char *text)
{
    rl_write_raw(display, text, strlen(text));
}

static void show_number(struct rl_writer *display, uint32_t number)
{
    char digits[10];
    size_t first = sizeof(digits);

    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    rl_write_raw(display, digits + first, sizeof(digits) - first);
}

/* A path with everything encoded that is not plain text, or that would mean something in a URL or a list. */
static void show_path(struct rl_writer *display, const char *path)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *path != '\0'; path++) {
        unsigned char byte = (unsigned char)*path;
        const char escape[3] = {'%', hex[byte >> 4], hex[byte & 15]};

        if (byte <= ' ' || byte >= 0x7f || byte == '%' || byte == '?' || byte == ',')
            rl_write_raw(display, escape, sizeof(escape));
        else
            rl_write_raw(display, path, 1);
    }
}

/* Names and addresses do not care for capitals; the zone behind the % does. */
static void show_host(struct rl_writer *display, const char *host)
{
    bool in_zone = false;

    for (; *host != '\0'; host++) {
        char c = in_zone ? *host : rl_to_lower(*host);

        in_zone = in_zone || c == '%';
        rl_write_raw(display, &c, 1);
        if (c == '%')
            show_text(display, "25");
    }
}

static void show_network(struct rl_writer *display, const struct rl_node_url *url)
{
    bool bracketed = rl_piece_has((struct rl_piece){url->host, strlen(url->host)}, ':');

    show_text(display, url->transport == RL_TRANSPORT_TLS ? "rediss://" : "redis://");
    show_text(display, bracketed ? "[" : "");
    show_host(display, url->host);
    show_text(display, bracketed ? "]:" : ":");
    show_number(display, url->port);
}

static const char *build_display(struct rl_node_url *url)
{
    struct rl_writer display = rl_writer_on(url->display, sizeof(url->display) - 1);

    if (url->transport == RL_TRANSPORT_UNIX) {
        show_text(&display, "unix://");
        show_path(&display, url->path);
    } else {
        show_network(&display, url);
    }
    if (url->db > 0) {
        show_text(&display, url->transport == RL_TRANSPORT_UNIX ? "?db=" : "/");
        show_number(&display, url->db);
    }
    url->display[display.length] = '\0';
    return display.overflow ? "path of the socket has too many characters that need escapes" : NULL;
}

const char *rl_node_url_parse(const char *text, size_t length, struct rl_node_url *url)
{
    struct rl_piece piece = {text, length};
    const char *wrong = check_characters(piece);

    memset(url, 0, sizeof(*url));
    if (wrong == NULL)
        wrong = read_url(piece, url);
    if (wrong == NULL)
        wrong = build_display(url);
    /* Half a URL is of no use to anybody, and may hold a password. */
    if (wrong != NULL)
        memset(url, 0, sizeof(*url));
    return wrong;
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || (c >= '\t' && c <= '\r');
}

const char *rl_node_url_next(const char **cursor, size_t *length)
{
    const char *start = *cursor;
    const char *end;

    while (is_separator(*start))
        start++;
    for (end = start; *end != '\0' && !is_separator(*end);)
        end++;
    *cursor = end;
    *length = (size_t)(end - start);
    return *length > 0 ? start : NULL;
}
