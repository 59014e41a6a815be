/*
 * What shows that local nodes were in use although their files are gone: holders that still run, and servers
 * that still listen. Both are found in the kernel's list of sockets; neither needs a file.
 */
#include "cli/presence.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/server.h"
#include "cli/text.h"

#define LISTENS 0x10000 /* __SO_ACCEPTCON in the flags of /proc/net/unix */

struct link_text {
    char text[128];
};

static struct link_text read_link(const char *path)
{
    struct link_text link = {""};
    ssize_t length = readlink(path, link.text, sizeof link.text - 1);

    link.text[length < 0 ? 0 : length] = '\0';
    return link;
}

/* The same path may be another directory where /tmp is another: so the view of the file system is part of the
 * name. */
static void make_name(const char *directory, char name[64])
{
    struct link_text view = read_link("/proc/self/ns/mnt");

    snprintf(name, 64, "redlock-run:%u:%016" PRIx64 ":", (unsigned)geteuid(),
             cli_text_hash(cli_text_hash(CLI_TEXT_HASH, view.text), directory));
}

int cli_presence_show(const char *directory)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    /* In the abstract name space: a NUL first, and no file. */
    make_name(directory, name);
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s%d", name, (int)getpid());
    socklen_t size = (socklen_t)(sizeof address.sun_family + 1 + (size_t)length);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Reads the list of sockets up to the next one that has a name; false at the end. */
static bool next_socket(FILE *list, unsigned *flags, unsigned long *inode, char name[256])
{
    char line[512];

    while (fgets(line, sizeof line, list) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        int name_at = 0;
        if (sscanf(line, "%*s %*s %*s %x %*s %*s %lu %n", flags, inode, &name_at) == 2 && name_at > 0 &&
            line[name_at] != '\0') {
            snprintf(name, 256, "%.255s", line + name_at);
            return true;
        }
    }
    return false;
}

bool cli_presence_seen(const char *directory)
{
    FILE *list = fopen("/proc/net/unix", "re");
    char wanted[65] = "@", name[256];
    unsigned flags;
    unsigned long inode;
    bool seen = false;

    make_name(directory, wanted + 1);
    while (list != NULL && !seen && next_socket(list, &flags, &inode, name))
        seen = strncmp(name, wanted, strlen(wanted)) == 0;
    if (list != NULL)
        fclose(list);
    return seen;
}

/* Whether a process has this socket open. */
static bool has_socket(const char *pid, const char *socket)
{
    char path[600];
    struct dirent *entry;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path); /* refused for processes of others */
    while (folder != NULL && !found && (entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, entry->d_name);
        found = strcmp(read_link(path).text, socket) == 0;
    }
    if (folder != NULL)
        closedir(folder);
    return found;
}

/* Processes with another view of the file system may have servers of their own at this path. */
static bool sees_the_same_files(const char *pid)
{
    char path[300];

    snprintf(path, sizeof path, "/proc/%s/ns/mnt", pid);
    return strcmp(read_link(path).text, read_link("/proc/self/ns/mnt").text) == 0;
}

static bool end_owner(unsigned long inode)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    char socket[64];
    bool ended = false;

    snprintf(socket, sizeof socket, "socket:[%lu]", inode);
    while (processes != NULL && !ended && (entry = readdir(processes)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && sees_the_same_files(entry->d_name) &&
            has_socket(entry->d_name, socket))
            ended = cli_server_end((pid_t)strtol(entry->d_name, NULL, 10));
    if (processes != NULL)
        closedir(processes);
    return ended;
}

bool cli_presence_end_server(const char *socket_path)
{
    FILE *list = fopen("/proc/net/unix", "re");
    char name[256];
    unsigned flags;
    unsigned long inode;
    bool ended = false;

    while (list != NULL && next_socket(list, &flags, &inode, name))
        if ((flags & LISTENS) != 0 && strcmp(name, socket_path) == 0)
            ended = end_owner(inode) || ended;
    if (list != NULL)
        fclose(list);
    return ended;
}
