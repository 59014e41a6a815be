/*
 * The scripted node: one thread, one poll() loop, a table of rules; see fake_node.h.
 */
#include "support/fake_node.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <linux/sockios.h>

#include "support/temp_folder.h"
#include "wire/script.h"

enum {
    CONNECTIONS_MAX = 64,
    RULES_MAX = 32,
    WORDS_MAX = 64,
    INPUT_MAX = 1 << 18,
    TEXT_MAX = 32768,
    BODY_MAX = 16384,
    FILLERS = 4,
    RECORD_MAX = 1 << 20,
    AWAIT_TRIES = 2000, /* of 5 ms */
    TRICKLE_YIELDS = 200
};

enum act { ACT_USUAL, ACT_REPLY, ACT_SILENCE, ACT_HOLD, ACT_ENDLESS, ACT_CUT };

struct rule {
    char command[32];
    enum act act;
    char text[TEXT_MAX];
    char body[BODY_MAX];
    size_t bytes;
};

struct connection {
    int fd; /* -1: free slot */
    int id;
    int protocol;
    bool noted;   /* the command that is held was already written down */
    bool endless; /* body goes out whenever there is room */
    size_t body_sent;
    char body[BODY_MAX];
    char *input;
    size_t input_length;
};

/* One command, as pieces of the connection's input. */
struct command {
    int count;
    const char *words[WORDS_MAX];
    size_t lengths[WORDS_MAX];
    size_t consumed; /* bytes of the input it took */
    char name[32];   /* first word in upper case */
};

struct fake_node {
    enum fake_transport transport;
    char folder[TEMP_FOLDER_MAX];
    char url[128];
    int listener;
    int wake;
    pthread_t thread;
    struct connection connections[CONNECTIONS_MAX]; /* the thread's own */
    int next_id;
    atomic_bool shut;

    pthread_mutex_t mutex; /* guards everything below */
    bool stopping;
    int fillers[FILLERS]; /* connections that nobody accepts */
    bool trickle;
    bool hang_up;
    char push[TEXT_MAX];
    int rule_count;
    struct rule rules[RULES_MAX];
    struct {
        char command[32];
        unsigned times;
    } received[RULES_MAX];
    size_t record_length;
    char record[RECORD_MAX];
    char transcript[RECORD_MAX];
};

/* ---- sending ------------------------------------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t put = send(fd, bytes, length, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        bytes += put;
        length -= (size_t)put;
    }
    return true;
}

/* Waits, within reason, until the peer has taken what was sent, so that the next byte is alone again. */
static void let_peer_read(int fd)
{
    int queued = 1;

    for (int i = 0; i < TRICKLE_YIELDS && queued > 0; i++) {
        if (ioctl(fd, SIOCOUTQ, &queued) != 0)
            return;
        sched_yield();
    }
}

static bool send_slowly(int fd, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (!send_all(fd, bytes + i, 1))
            return false;
        let_peer_read(fd);
    }
    return true;
}

static void send_endless(struct connection *connection)
{
    size_t length = strlen(connection->body);

    for (int i = 0; i < 256; i++) {
        ssize_t put = send(connection->fd, connection->body + connection->body_sent,
                           length - connection->body_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put < 0)
            return;
        connection->body_sent = (connection->body_sent + (size_t)put) % length;
    }
}

/* ---- the usual answers --------------------------------------------------------------------------------- */

static bool word_is(const struct command *command, int index, const char *text)
{
    return index < command->count && command->lengths[index] == strlen(text) &&
           strncasecmp(command->words[index], text, command->lengths[index]) == 0;
}

static void answer_hello(struct connection *connection, const struct command *command, char *answer,
                         size_t size)
{
    if (word_is(command, 1, "3"))
        connection->protocol = 3;
    else if (word_is(command, 1, "2"))
        connection->protocol = 2;
    snprintf(answer, size,
             "%s\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:%d\r\n"
             "$2\r\nid\r\n:%d\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
             "$7\r\nmodules\r\n*0\r\n",
             connection->protocol == 3 ? "%7" : "*14", connection->protocol, connection->id);
}

/* The run_id is the node's own, so that no two fake nodes look like one. */
static void answer_info(const struct fake_node *fake, char *answer, size_t size)
{
    char info[1024];

    int length = snprintf(info, sizeof(info),
                          "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nprocess_id:1\r\n"
                          "run_id:%020llx%020d\r\ntcp_port:0\r\nuptime_in_seconds:100000\r\n\r\n"
                          "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n\r\n"
                          "# Persistence\r\nloading:0\r\naof_enabled:0\r\n\r\n"
                          "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
                          "master_replid:%040llx\r\nmaster_replid2:%040d\r\n",
                          (unsigned long long)(uintptr_t)fake, 0, (unsigned long long)(uintptr_t)fake + 1, 0);
    snprintf(answer, size, "$%d\r\n%s\r\n", length, info);
}

static void answer_time(char *answer, size_t size)
{
    struct timespec now;
    char seconds[24];
    char microseconds[24];

    clock_gettime(CLOCK_REALTIME, &now);
    int first = snprintf(seconds, sizeof(seconds), "%lld", (long long)now.tv_sec);
    int second = snprintf(microseconds, sizeof(microseconds), "%ld", now.tv_nsec / 1000);
    snprintf(answer, size, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", first, seconds, second, microseconds);
}

/* Whether it calls the script that releases several locks. */
static bool is_release_many(const struct command *command)
{
    const struct rl_script *script = &rl_script_release_many;

    if (command->count < 3 || (!word_is(command, 0, "EVALSHA") && !word_is(command, 0, "EVAL")))
        return false;
    return word_is(command, 1, script->digest) || word_is(command, 1, script->text);
}

/* As many as it has keys. */
static void answer_release_many(const struct command *command, char *answer, size_t size)
{
    long keys = strtol(command->words[2], NULL, 10);
    int used = snprintf(answer, size, "*%ld\r\n", keys);

    for (long i = 0; i < keys; i++)
        used += snprintf(answer + used, size - (size_t)used, ":1\r\n");
}

static const struct {
    const char *command;
    const char *answer;
} constant_answers[] = {
    {"PING", "+PONG\r\n"},    {"AUTH", "+OK\r\n"},        {"SELECT", "+OK\r\n"},      {"SET", "+OK\r\n"},
    {"EVALSHA", ":1\r\n"},    {"EVAL", ":1\r\n"},         {"PTTL", ":-2\r\n"},        {"DEL", ":1\r\n"},
    {"PEXPIRE", ":1\r\n"},    {"EXISTS", ":0\r\n"},       {"QUIT", "+OK\r\n"},        {"RESET", "+RESET\r\n"},
    {"READONLY", "+OK\r\n"},  {"TYPE", "+none\r\n"},      {"DELEX", ":1\r\n"},        {"DELIFEQ", ":1\r\n"},
    {"SUBSCRIBE", "+OK\r\n"}, {"UNSUBSCRIBE", "+OK\r\n"}, {"GETRANGE", "$0\r\n\r\n"},
};

static void answer_usual(const struct fake_node *fake, struct connection *connection,
                         const struct command *command, char *answer, size_t size)
{
    if (word_is(command, 0, "HELLO")) {
        answer_hello(connection, command, answer, size);
    } else if (word_is(command, 0, "INFO")) {
        answer_info(fake, answer, size);
    } else if (word_is(command, 0, "TIME")) {
        answer_time(answer, size);
    } else if (is_release_many(command)) {
        answer_release_many(command, answer, size);
    } else if (word_is(command, 0, "GET")) {
        snprintf(answer, size, "%s", connection->protocol == 3 ? "_\r\n" : "$-1\r\n");
    } else if (word_is(command, 0, "CLIENT")) {
        snprintf(answer, size, word_is(command, 1, "ID") ? ":%d\r\n" : "+OK\r\n", connection->id);
    } else if (word_is(command, 0, "SCRIPT")) {
        snprintf(answer, size, "$40\r\n%040d\r\n", 0);
    } else {
        snprintf(answer, size, "-ERR unknown command '%s'\r\n", command->name);
        for (size_t i = 0; i < sizeof(constant_answers) / sizeof(constant_answers[0]); i++)
            if (word_is(command, 0, constant_answers[i].command))
                snprintf(answer, size, "%s", constant_answers[i].answer);
    }
}

/* ---- the record, with the mutex held ------------------------------------------------------------------- */

static void record_char(struct fake_node *fake, char c)
{
    if (fake->record_length + 1 < RECORD_MAX)
        fake->record[fake->record_length++] = c;
}

static void record_byte(struct fake_node *fake, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";

    if (byte > ' ' && byte < 127 && byte != '\\') {
        record_char(fake, (char)byte);
        return;
    }
    record_char(fake, '\\');
    record_char(fake, 'x');
    record_char(fake, digits[byte >> 4]);
    record_char(fake, digits[byte & 15]);
}

static void count_command(struct fake_node *fake, const char *name)
{
    for (int i = 0; i < RULES_MAX; i++) {
        if (fake->received[i].times == 0)
            memcpy(fake->received[i].command, name, sizeof(fake->received[i].command));
        if (strcmp(fake->received[i].command, name) == 0) {
            fake->received[i].times++;
            return;
        }
    }
}

static void record_command(struct fake_node *fake, const struct command *command)
{
    for (int i = 0; i < command->count; i++) {
        if (i > 0)
            record_char(fake, ' ');
        for (size_t j = 0; j < command->lengths[i]; j++)
            record_byte(fake, (unsigned char)command->words[i][j]);
    }
    record_char(fake, '\n');
    fake->record[fake->record_length] = '\0';
    count_command(fake, command->name);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Reads the number after a type byte: false when the line is not complete. */
static bool read_count(const struct connection *connection, size_t *at, long *value)
{
    const char *start = connection->input + *at;
    const char *end = memchr(start, '\n', connection->input_length - *at);

    if (end == NULL)
        return false;
    *value = strtol(start + 1, NULL, 10);
    *at += (size_t)(end - start) + 1;
    return true;
}

static void name_command(struct command *command)
{
    size_t length = command->count > 0 ? command->lengths[0] : 0;

    memset(command->name, 0, sizeof(command->name));
    if (length >= sizeof(command->name))
        length = sizeof(command->name) - 1;
    for (size_t i = 0; i < length; i++) {
        char c = command->words[0][i];
        command->name[i] = c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
    }
}

/* false: the rest of it has not arrived. */
static bool parse_command(const struct connection *connection, struct command *command)
{
    size_t at = 0;
    long count;

    if (!read_count(connection, &at, &count))
        return false;
    command->count = 0;
    for (long i = 0; i < count; i++) {
        long length;
        if (!read_count(connection, &at, &length) || length < 0)
            return false;
        if (connection->input_length - at < (size_t)length + 2)
            return false;
        if (command->count < WORDS_MAX) {
            command->words[command->count] = connection->input + at;
            command->lengths[command->count++] = (size_t)length;
        }
        at += (size_t)length + 2;
    }
    command->consumed = at;
    name_command(command);
    return true;
}

static void close_connection(struct connection *connection)
{
    if (connection->fd >= 0)
        close(connection->fd);
    free(connection->input);
    *connection = (struct connection){.fd = -1};
}

/* With the mutex held. */
static const struct rule *find_rule(const struct fake_node *fake, const char *name)
{
    const struct rule *found = NULL;

    for (int i = 0; i < fake->rule_count; i++) {
        const struct rule *rule = &fake->rules[i];
        if (strcmp(rule->command, name) == 0)
            return rule;
        if (strcmp(rule->command, "*") == 0)
            found = rule;
    }
    return found;
}

/* What is to be done about one command, copied so that it can be done without the mutex. */
struct deed {
    enum act act;
    bool trickle;
    size_t bytes;
    char text[TEXT_MAX];
    char body[BODY_MAX];
};

static void decide(struct fake_node *fake, struct connection *connection, const struct command *command,
                   struct deed *deed)
{
    pthread_mutex_lock(&fake->mutex);
    if (!connection->noted)
        record_command(fake, command);
    connection->noted = false;
    deed->act = ACT_USUAL;
    deed->trickle = fake->trickle;
    const struct rule *rule = find_rule(fake, command->name);
    if (rule != NULL) {
        deed->act = rule->act;
        deed->bytes = rule->bytes;
        memcpy(deed->text, rule->text, sizeof(deed->text));
        memcpy(deed->body, rule->body, sizeof(deed->body));
    }
    pthread_mutex_unlock(&fake->mutex);
    if (deed->act == ACT_USUAL || deed->act == ACT_CUT)
        answer_usual(fake, connection, command, deed->text, sizeof(deed->text));
}

/* false: the connection is done for. */
static bool carry_out(struct connection *connection, const struct deed *deed)
{
    size_t length = strlen(deed->text);

    if (deed->act == ACT_SILENCE)
        return true;
    if (deed->act == ACT_CUT && deed->bytes < length)
        length = deed->bytes;
    if (!(deed->trickle ? send_slowly : send_all)(connection->fd, deed->text, length))
        return false;
    if (deed->act == ACT_ENDLESS) {
        connection->endless = true;
        memcpy(connection->body, deed->body, sizeof(connection->body));
    }
    return deed->act != ACT_CUT;
}

/* Answers what is complete in the input; stops at a command that is held. */
static void answer_input(struct fake_node *fake, struct connection *connection)
{
    struct command command;
    struct deed *deed = malloc(sizeof(*deed));

    while (deed != NULL && connection->input_length > 0 && parse_command(connection, &command)) {
        decide(fake, connection, &command, deed);
        if (deed->act == ACT_HOLD) {
            connection->noted = true;
            break;
        }
        if (!carry_out(connection, deed)) {
            close_connection(connection);
            break;
        }
        connection->input_length -= command.consumed;
        memmove(connection->input, connection->input + command.consumed, connection->input_length);
    }
    free(deed);
}

static void read_input(struct fake_node *fake, struct connection *connection)
{
    ssize_t got = recv(connection->fd, connection->input + connection->input_length,
                       INPUT_MAX - connection->input_length, 0);

    if (got <= 0) {
        close_connection(connection);
        return;
    }
    connection->input_length += (size_t)got;
    answer_input(fake, connection);
}

static void accept_connection(struct fake_node *fake)
{
    int one = 1;
    int fd = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return;
    if (fake->transport == FAKE_TCP)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &fake->connections[i];
        if (connection->fd >= 0)
            continue;
        *connection = (struct connection){.fd = fd, .id = ++fake->next_id, .protocol = 2};
        connection->input = malloc(INPUT_MAX);
        if (connection->input == NULL)
            close_connection(connection);
        return;
    }
    close(fd);
}

/* ---- the thread ---------------------------------------------------------------------------------------- */

/* Does what other threads asked for; false: stop. */
static bool obey(struct fake_node *fake)
{
    char push[TEXT_MAX];
    uint64_t ignored;

    (void)!read(fake->wake, &ignored, sizeof(ignored));
    pthread_mutex_lock(&fake->mutex);
    bool go_on = !fake->stopping;
    bool hang_up = fake->hang_up;
    memcpy(push, fake->push, sizeof(push));
    fake->push[0] = '\0';
    fake->hang_up = false;
    pthread_mutex_unlock(&fake->mutex);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &fake->connections[i];
        if (connection->fd < 0)
            continue;
        if (hang_up || !send_all(connection->fd, push, strlen(push)))
            close_connection(connection);
        else if (connection->noted)
            answer_input(fake, connection);
    }
    return go_on;
}

static nfds_t list_descriptors(const struct fake_node *fake, struct pollfd *list, struct connection **owners)
{
    nfds_t count = 0;

    list[count++] = (struct pollfd){.fd = fake->wake, .events = POLLIN};
    list[count++] =
        (struct pollfd){.fd = fake->listener, .events = (short)(atomic_load(&fake->shut) ? 0 : POLLIN)};
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        const struct connection *connection = &fake->connections[i];
        bool full = connection->input_length == INPUT_MAX;
        if (connection->fd < 0)
            continue;
        owners[count] = (struct connection *)(uintptr_t)connection;
        list[count++] =
            (struct pollfd){.fd = connection->fd,
                            .events = (short)((full ? 0 : POLLIN) | (connection->endless ? POLLOUT : 0))};
    }
    return count;
}

static void serve_connection(struct fake_node *fake, struct connection *connection, short events)
{
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0)
        read_input(fake, connection);
    if (connection->fd >= 0 && connection->endless && (events & POLLOUT) != 0)
        send_endless(connection);
}

static void *run_node(void *context)
{
    struct fake_node *fake = context;
    struct pollfd list[CONNECTIONS_MAX + 2];
    struct connection *owners[CONNECTIONS_MAX + 2];

    for (;;) {
        nfds_t count = list_descriptors(fake, list, owners);
        if (poll(list, count, -1) < 0)
            continue;
        if (list[0].revents != 0 && !obey(fake))
            return NULL;
        for (nfds_t i = 2; i < count; i++)
            if (list[i].revents != 0 && owners[i]->fd == list[i].fd)
                serve_connection(fake, owners[i], list[i].revents);
        if (list[1].revents != 0)
            accept_connection(fake);
    }
}

/* ---- start and stop ------------------------------------------------------------------------------------ */

static bool listen_unix(struct fake_node *fake)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (!temp_folder_make(fake->folder))
        return false;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", fake->folder);
    snprintf(fake->url, sizeof(fake->url), "unix://%s", address.sun_path);
    fake->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fake->listener >= 0 &&
           bind(fake->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
           listen(fake->listener, CONNECTIONS_MAX) == 0;
}

static bool listen_tcp(struct fake_node *fake)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fake->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fake->listener < 0 || bind(fake->listener, (const struct sockaddr *)&address, length) != 0 ||
        listen(fake->listener, CONNECTIONS_MAX) != 0 ||
        getsockname(fake->listener, (struct sockaddr *)&address, &length) != 0)
        return false;
    snprintf(fake->url, sizeof(fake->url), "redis://127.0.0.1:%d", ntohs(address.sin_port));
    return true;
}

static void free_node(struct fake_node *fake)
{
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        close_connection(&fake->connections[i]);
    for (int i = 0; fake->shut && i < FILLERS; i++)
        if (fake->fillers[i] >= 0)
            close(fake->fillers[i]);
    if (fake->listener >= 0)
        close(fake->listener);
    if (fake->wake >= 0)
        close(fake->wake);
    if (fake->folder[0] != '\0')
        temp_folder_remove(fake->folder);
    pthread_mutex_destroy(&fake->mutex);
    free(fake);
}

struct fake_node *fake_node_start(enum fake_transport transport)
{
    struct fake_node *fake = calloc(1, sizeof(*fake));

    if (fake == NULL)
        return NULL;
    fake->transport = transport;
    fake->listener = -1;
    fake->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&fake->mutex, NULL);
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        fake->connections[i].fd = -1;
    if (fake->wake < 0 || !(transport == FAKE_UNIX ? listen_unix(fake) : listen_tcp(fake)) ||
        pthread_create(&fake->thread, NULL, run_node, fake) != 0) {
        free_node(fake);
        return NULL;
    }
    return fake;
}

/* Ends the mutex's hold and lets the thread look at what changed. */
static void publish(struct fake_node *fake)
{
    uint64_t one = 1;

    pthread_mutex_unlock(&fake->mutex);
    (void)!write(fake->wake, &one, sizeof(one));
}

void fake_node_stop(struct fake_node *fake)
{
    if (fake == NULL)
        return;
    pthread_mutex_lock(&fake->mutex);
    fake->stopping = true;
    publish(fake);
    pthread_join(fake->thread, NULL);
    free_node(fake);
}

const char *fake_node_url(const struct fake_node *fake)
{
    return fake->url;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

static void set_rule(struct fake_node *fake, const char *command, enum act act, const char *text,
                     const char *body, size_t bytes)
{
    int place = 0;

    pthread_mutex_lock(&fake->mutex);
    while (place < fake->rule_count && strcmp(fake->rules[place].command, command) != 0)
        place++;
    if (place < RULES_MAX) {
        struct rule *rule = &fake->rules[place];
        snprintf(rule->command, sizeof(rule->command), "%s", command);
        snprintf(rule->text, sizeof(rule->text), "%s", text);
        snprintf(rule->body, sizeof(rule->body), "%s", body);
        rule->act = act;
        rule->bytes = bytes;
        if (place == fake->rule_count)
            fake->rule_count++;
    }
    publish(fake);
}

void fake_node_reply(struct fake_node *fake, const char *command, const char *bytes)
{
    set_rule(fake, command, ACT_REPLY, bytes, "", 0);
}

void fake_node_fail(struct fake_node *fake, const char *command, const char *text)
{
    char answer[TEXT_MAX];

    snprintf(answer, sizeof(answer), "-%s\r\n", text);
    set_rule(fake, command, ACT_REPLY, answer, "", 0);
}

void fake_node_silence(struct fake_node *fake, const char *command)
{
    set_rule(fake, command, ACT_SILENCE, "", "", 0);
}

void fake_node_hold(struct fake_node *fake, const char *command)
{
    set_rule(fake, command, ACT_HOLD, "", "", 0);
}

void fake_node_resume(struct fake_node *fake)
{
    pthread_mutex_lock(&fake->mutex);
    for (int i = 0; i < fake->rule_count; i++)
        if (fake->rules[i].act == ACT_HOLD)
            fake->rules[i].act = ACT_USUAL;
    publish(fake);
}

void fake_node_endless(struct fake_node *fake, const char *command, const char *head, const char *body)
{
    set_rule(fake, command, ACT_ENDLESS, head, body, 0);
}

void fake_node_cut(struct fake_node *fake, const char *command, size_t bytes)
{
    set_rule(fake, command, ACT_CUT, "", "", bytes);
}

void fake_node_behave(struct fake_node *fake)
{
    pthread_mutex_lock(&fake->mutex);
    fake->rule_count = 0;
    publish(fake);
}

void fake_node_trickle(struct fake_node *fake, bool on)
{
    pthread_mutex_lock(&fake->mutex);
    fake->trickle = on;
    publish(fake);
}

void fake_node_push(struct fake_node *fake, const char *bytes)
{
    pthread_mutex_lock(&fake->mutex);
    size_t used = strlen(fake->push);
    snprintf(fake->push + used, sizeof(fake->push) - used, "%s", bytes);
    publish(fake);
}

/* The queue of the listener is made as short as can be, and filled. */
void fake_node_shut(struct fake_node *fake)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);

    pthread_mutex_lock(&fake->mutex);
    atomic_store(&fake->shut, true);
    publish(fake);
    listen(fake->listener, 0);
    getsockname(fake->listener, (struct sockaddr *)&address, &length);
    for (int i = 0; i < FILLERS; i++) {
        fake->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(fake->fillers[i], (const struct sockaddr *)&address, length);
    }
}

void fake_node_hang_up(struct fake_node *fake)
{
    pthread_mutex_lock(&fake->mutex);
    fake->hang_up = true;
    publish(fake);
}

unsigned fake_node_received(struct fake_node *fake, const char *command)
{
    unsigned times = 0;

    pthread_mutex_lock(&fake->mutex);
    for (int i = 0; i < RULES_MAX; i++)
        if (strcmp(command, "*") == 0 || strcmp(fake->received[i].command, command) == 0)
            times += fake->received[i].times;
    pthread_mutex_unlock(&fake->mutex);
    return times;
}

bool fake_node_await(struct fake_node *fake, const char *command, unsigned times)
{
    for (int i = 0; i < AWAIT_TRIES; i++) {
        if (fake_node_received(fake, command) >= times)
            return true;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    return false;
}

const char *fake_node_transcript(struct fake_node *fake)
{
    pthread_mutex_lock(&fake->mutex);
    memcpy(fake->transcript, fake->record, fake->record_length + 1);
    pthread_mutex_unlock(&fake->mutex);
    return fake->transcript;
}
