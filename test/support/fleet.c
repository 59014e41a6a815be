/*
 * Starts, breaks, repairs and ends real redis-server processes; see fleet.h.
 */
#include "support/fleet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/certificates.h"
#include "support/temp_folder.h"

enum {
    READY_TRIES = 3000, /* of 10 ms: loaded machines are slow to start anything */
    START_TRIES = 10,   /* another program may take the port that we found free */
    LEFTOVER_PAUSE_MS = 20,
    LEFTOVER_PATIENCE = 6,  /* times the pauses: listing many keys on a busy machine is slow itself */
    COMMAND_TIMEOUT_S = 10, /* a frozen node does not hang the test */
    WORDS_MAX = 32,
    PORT_FIRST = 12000, /* below the range from which the kernel takes ports of outgoing connections */
    PORT_COUNT = 18000
};

struct fleet_node {
    pid_t pid; /* 0 while killed */
    bool frozen;
    int port; /* 0 for unix */
    char folder[128];
    char url[256];
    const char *config;
    redisContext *link; /* NULL until the first command, and after a fault */
    char *answer;
};

struct fleet {
    struct fleet_options options;
    char folder[TEMP_FOLDER_MAX];
    char urls[FLEET_NODES_MAX * 160];
    char leftovers[4096];
    struct fleet_node nodes[FLEET_NODES_MAX];
    bool harmed; /* a node was killed */
};

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static int64_t clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void show_log(const struct fleet_node *node)
{
    char path[160];
    char line[512];

    snprintf(path, sizeof(path), "%s/log", node->folder);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        fprintf(stderr, "# %s", line);
    if (file != NULL)
        fclose(file);
}

/* ---- the server ---------------------------------------------------------------------------------------- */

int fleet_server_version(void)
{
    static int version;
    char line[256] = "";
    int major = 0, minor = 0;

    if (version != 0)
        return version;
    FILE *output = popen("redis-server --version", "re");
    if (output != NULL && fgets(line, sizeof(line), output) != NULL && strstr(line, "v=") != NULL &&
        sscanf(strstr(line, "v="), "v=%d.%d", &major, &minor) == 2)
        version = major * 100 + minor;
    if (output != NULL)
        pclose(output);
    if (strncmp(line, "Valkey", 6) == 0 && version < FLEET_REDIS_7_2)
        version = FLEET_REDIS_7_2; /* its numbers go on from there */
    return version;
}

/* Writes lines of a configuration as this server knows them: what it has no word for, it does not
 * restrict. */
static void write_lines(FILE *file, const char *lines)
{
    int version = fleet_server_version();

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        const char *channels = strstr(lines, " &*");
        if (version < FLEET_REDIS_7_0 && strncmp(lines, "enable-debug-command", 20) == 0)
            fputc('\n', file);
        else if (version < FLEET_REDIS_6_2 && channels != NULL && channels < lines + length)
            fprintf(file, "%.*s%.*s\n", (int)(channels - lines), lines, (int)(lines + length - channels - 3),
                    channels + 3);
        else
            fprintf(file, "%.*s\n", (int)length, lines);
        lines += length + (lines[length] == '\n');
    }
}

static void write_transport(const struct fleet *fleet, const struct fleet_node *node, FILE *file)
{
    if (fleet->options.transport == FLEET_TCP)
        fprintf(file, "port %d\n", node->port);
    else
        fprintf(file, "port 0\n");
    if (fleet->options.transport == FLEET_TLS)
        fprintf(file,
                "tls-port %d\ntls-auth-clients no\ntls-ca-cert-file %s/ca.pem\n"
                "tls-cert-file %s/node.pem\ntls-key-file %s/node.key\n",
                node->port, fleet->folder, fleet->folder, fleet->folder);
}

/* The user "fleet" may do everything whatever the extra lines do to the default user. */
static bool write_config(const struct fleet *fleet, const struct fleet_node *node)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/redis.conf", node->folder);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    fprintf(file,
            "bind 127.0.0.1\nunixsocket %s/socket\nunixsocketperm 700\ndir %s\nlogfile %s/log\n"
            "daemonize no\nsave \"\"\nappendonly %s\nappendfsync always\nloglevel warning\n",
            node->folder, node->folder, node->folder, fleet->options.durable ? "yes" : "no");
    write_lines(file, "enable-debug-command yes\nuser fleet on >fleet ~* &* +@all");
    write_transport(fleet, node, file);
    if (fleet->options.config != NULL)
        write_lines(file, fleet->options.config);
    if (node->config != NULL)
        write_lines(file, node->config);
    return fclose(file) == 0;
}

/* ---- addresses ----------------------------------------------------------------------------------------- */

static bool port_is_free(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    if (fd >= 0)
        close(fd);
    return is_free;
}

/* Starts at a place that depends on the process, so that tests side by side rarely meet. */
static int find_free_port(void)
{
    static unsigned next;

    if (next == 0)
        next = (unsigned)getpid() * 37u;
    for (int tries = 0; tries < PORT_COUNT; tries++) {
        int port = PORT_FIRST + (int)(next++ % PORT_COUNT);
        if (port_is_free(port))
            return port;
    }
    return 0;
}

static void choose_address(const struct fleet *fleet, struct fleet_node *node)
{
    if (fleet->options.transport == FLEET_UNIX) {
        snprintf(node->url, sizeof(node->url), "unix://%s/socket", node->folder);
        return;
    }
    node->port = find_free_port();
    snprintf(node->url, sizeof(node->url), "%s://127.0.0.1:%d",
             fleet->options.transport == FLEET_TLS ? "rediss" : "redis", node->port);
}

static void join_urls(struct fleet *fleet)
{
    size_t used = 0;

    for (int i = 0; i < fleet->options.node_count; i++)
        used += (size_t)snprintf(fleet->urls + used, sizeof(fleet->urls) - used, "%s%s", i > 0 ? "," : "",
                                 fleet->nodes[i].url);
}

/* ---- commands ------------------------------------------------------------------------------------------ */

static void drop_link(struct fleet_node *node)
{
    if (node->link != NULL)
        redisFree(node->link);
    node->link = NULL;
}

static bool open_link(struct fleet_node *node)
{
    char path[160];
    struct timeval timeout = {COMMAND_TIMEOUT_S, 0};

    if (node->link != NULL)
        return true;
    snprintf(path, sizeof(path), "%s/socket", node->folder);
    node->link = redisConnectUnixWithTimeout(path, timeout);
    if (node->link == NULL || node->link->err != 0 || redisSetTimeout(node->link, timeout) != REDIS_OK) {
        drop_link(node);
        return false;
    }
    redisReply *reply = redisCommand(node->link, "AUTH fleet fleet");
    bool good = reply != NULL && reply->type != REDIS_REPLY_ERROR;
    if (reply != NULL)
        freeReplyObject(reply);
    if (!good)
        drop_link(node);
    return good;
}

static void print_reply(FILE *out, const redisReply *reply)
{
    switch (reply->type) {
    case REDIS_REPLY_INTEGER:
        fprintf(out, "%lld", reply->integer);
        break;
    case REDIS_REPLY_NIL:
        fputs("(nil)", out);
        break;
    case REDIS_REPLY_ARRAY:
        for (size_t i = 0; i < reply->elements; i++) {
            if (i > 0)
                fputc('\n', out);
            print_reply(out, reply->element[i]);
        }
        break;
    default:
        fwrite(reply->str, 1, (size_t)reply->len, out);
        break;
    }
}

static void keep_answer(struct fleet_node *node, const redisReply *reply)
{
    size_t length = 0;

    free(node->answer);
    node->answer = NULL;
    FILE *out = open_memstream(&node->answer, &length);
    if (out == NULL)
        return;
    print_reply(out, reply);
    fclose(out);
}

const char *fleet_command_bytes(struct fleet *fleet, int number, int count, const char **words,
                                const size_t *lengths)
{
    struct fleet_node *node = &fleet->nodes[number];

    if (node->pid == 0 || node->frozen || !open_link(node))
        return "(no answer)";
    redisReply *reply = redisCommandArgv(node->link, count, words, lengths);
    if (reply == NULL) {
        drop_link(node);
        return "(no answer)";
    }
    keep_answer(node, reply);
    freeReplyObject(reply);
    return node->answer != NULL ? node->answer : "(no answer)";
}

const char *fleet_command(struct fleet *fleet, int node, ...)
{
    const char *words[WORDS_MAX];
    int count = 0;
    va_list list;

    va_start(list, node);
    while (count < WORDS_MAX && (words[count] = va_arg(list, const char *)) != NULL)
        count++;
    va_end(list);
    return fleet_command_bytes(fleet, node, count, words, NULL);
}

/* ---- processes ----------------------------------------------------------------------------------------- */

/* In the child: becomes the server, and dies when the thread that forked it does. */
static void become_server(const char *config, pid_t parent)
{
    sigset_t none;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    close_range(3, ~0U, 0);
    execlp("redis-server", "redis-server", config, (char *)NULL);
    _exit(127);
}

static bool spawn_node(const struct fleet *fleet, struct fleet_node *node)
{
    char config[160];
    pid_t parent = getpid();

    if (!write_config(fleet, node))
        return false;
    snprintf(config, sizeof(config), "%s/redis.conf", node->folder);
    pid_t pid = fork();
    if (pid == 0)
        become_server(config, parent);
    node->pid = pid > 0 ? pid : 0;
    node->frozen = false;
    return pid > 0;
}

/* Waits until a node answers PING with PONG; false as soon as it has ended instead. */
static bool await_node(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    for (int i = 0; i < READY_TRIES && node->pid != 0; i++) {
        if (strcmp(fleet_command(fleet, number, "PING", NULL), "PONG") == 0)
            return true;
        if (waitpid(node->pid, NULL, WNOHANG) == node->pid)
            node->pid = 0;
        pause_ms(10);
    }
    return false;
}

/* Another program may have been faster to take the port: then there is another one. */
static bool insist_on_node(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    for (int i = 0; i < START_TRIES; i++) {
        if (await_node(fleet, number))
            return true;
        fleet_kill(fleet, number);
        choose_address(fleet, node);
        if (node->port == 0 || !spawn_node(fleet, node))
            break;
    }
    show_log(node);
    fprintf(stderr, "# node %d %s did not start; is redis-server installed?\n", number, node->url);
    return false;
}

static bool prepare_folders(struct fleet *fleet)
{
    if (!temp_folder_make(fleet->folder))
        return false;
    for (int i = 0; i < fleet->options.node_count; i++) {
        struct fleet_node *node = &fleet->nodes[i];
        snprintf(node->folder, sizeof(node->folder), "%s/%d", fleet->folder, i);
        node->config = fleet->options.node_config[i];
        if (mkdir(node->folder, 0700) != 0)
            return false;
    }
    return fleet->options.transport != FLEET_TLS || certificates_write(fleet->folder);
}

static bool start_nodes(struct fleet *fleet)
{
    bool good = true;

    for (int i = 0; i < fleet->options.node_count && good; i++) {
        choose_address(fleet, &fleet->nodes[i]);
        good = spawn_node(fleet, &fleet->nodes[i]);
    }
    for (int i = 0; i < fleet->options.node_count && good; i++)
        good = insist_on_node(fleet, i);
    return good;
}

struct fleet *fleet_start(const struct fleet_options *options)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));

    if (fleet == NULL || options->node_count < 1 || options->node_count > FLEET_NODES_MAX) {
        free(fleet);
        return NULL;
    }
    fleet->options = *options;
    if (!prepare_folders(fleet) || !start_nodes(fleet)) {
        fprintf(stderr, "# the fleet in %s could not be started\n", fleet->folder);
        fleet_stop(fleet);
        return NULL;
    }
    join_urls(fleet);
    return fleet;
}

void fleet_stop(struct fleet *fleet)
{
    if (fleet == NULL)
        return;
    for (int i = 0; i < fleet->options.node_count; i++) {
        fleet_kill(fleet, i);
        free(fleet->nodes[i].answer);
    }
    temp_folder_remove(fleet->folder);
    free(fleet);
}

int fleet_size(const struct fleet *fleet)
{
    return fleet->options.node_count;
}

const char *fleet_urls(const struct fleet *fleet)
{
    return fleet->urls;
}

const char *fleet_url(const struct fleet *fleet, int node)
{
    return fleet->nodes[node].url;
}

const char *fleet_folder(const struct fleet *fleet)
{
    return fleet->folder;
}

pid_t fleet_pid(const struct fleet *fleet, int node)
{
    return fleet->nodes[node].pid;
}

/* ---- faults -------------------------------------------------------------------------------------------- */

/* A signal is only on its way when kill() returns; the change of state is what we wait for. */
static void signal_and_await(pid_t pid, int signal_number, int options)
{
    int status = 0;

    if (kill(pid, signal_number) != 0)
        return;
    while (waitpid(pid, &status, options) < 0 && errno == EINTR)
        continue;
}

void fleet_freeze(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    if (node->pid == 0 || node->frozen)
        return;
    signal_and_await(node->pid, SIGSTOP, WUNTRACED);
    node->frozen = true;
}

void fleet_thaw(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    if (node->pid == 0 || !node->frozen)
        return;
    signal_and_await(node->pid, SIGCONT, WCONTINUED);
    node->frozen = false;
}

void fleet_kill(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    drop_link(node);
    if (node->pid == 0)
        return;
    signal_and_await(node->pid, SIGKILL, 0);
    node->pid = 0;
    node->frozen = false;
    fleet->harmed = true;
}

bool fleet_restart(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    if (node->pid != 0 || !spawn_node(fleet, node))
        return false;
    if (await_node(fleet, number))
        return true;
    show_log(node);
    return false;
}

void fleet_wipe(struct fleet *fleet, int number)
{
    struct fleet_node *node = &fleet->nodes[number];

    if (node->pid != 0) {
        fleet_command(fleet, number, "FLUSHALL", NULL);
        return;
    }
    temp_folder_remove(node->folder);
    mkdir(node->folder, 0700);
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* KEYS leaves out what has expired and was not collected yet; DBSIZE would count it. The guard's own keys are
 * no leftovers: they are what it remembers by. Nor, once a node was killed, who waited: a node that could not
 * be told that somebody no longer waits forgets it when his lease ends. */
static const char *list_keys(struct fleet *fleet, int node)
{
    static const char script[] =
        "local kept = {} "
        "for _, key in ipairs(redis.call('KEYS', '*')) do "
        "if not string.find(key, '^redlock%-guard:') and not string.find(key, '^redlock%-fence:') "
        "and not (ARGV[1] == '1' and string.find(key, '^redlock%-line:')) "
        "then kept[#kept + 1] = key end end return kept";

    return fleet_command(fleet, node, "EVAL", script, "0", fleet->harmed ? "1" : "0", NULL);
}

int fleet_key_count(struct fleet *fleet, int node)
{
    const char *keys = list_keys(fleet, node);
    int count = keys[0] != '\0';

    if (strcmp(keys, "(no answer)") == 0)
        return -1;
    for (const char *at = keys; *at != '\0'; at++)
        count += *at == '\n';
    return count;
}

static size_t collect_leftovers(struct fleet *fleet)
{
    size_t used = 0;

    fleet->leftovers[0] = '\0';
    for (int i = 0; i < fleet->options.node_count; i++) {
        if (fleet->nodes[i].pid == 0 || fleet->nodes[i].frozen)
            continue;
        const char *keys = list_keys(fleet, i);
        if (keys[0] == '\0' || used >= sizeof(fleet->leftovers))
            continue;
        used += (size_t)snprintf(fleet->leftovers + used, sizeof(fleet->leftovers) - used, "node %d: %s\n", i,
                                 keys);
    }
    return used;
}

const char *fleet_leftovers(struct fleet *fleet, int wait_ms)
{
    int64_t give_up_ms = clock_ms() + (int64_t)LEFTOVER_PATIENCE * wait_ms;

    while (collect_leftovers(fleet) > 0 && wait_ms > 0 && clock_ms() < give_up_ms) {
        pause_ms(LEFTOVER_PAUSE_MS);
        wait_ms -= LEFTOVER_PAUSE_MS;
    }
    return fleet->leftovers;
}
