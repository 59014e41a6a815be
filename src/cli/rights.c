/*
 * The remedy when nodes refuse a user; see rights.h.
 */
#include "cli/rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

const char *cli_rights_user(const struct cli_session *session, const redlock_node_facts *facts)
{
    if (facts->user[0] != '\0')
        return facts->user;
    return session->config.user != NULL ? session->config.user : "default";
}

void cli_rights_line(const char *user, const char *rights, char *text, size_t size)
{
    char word[400], quoted[sizeof word * 4 + 8];

    cli_text_quote(user, quoted, sizeof quoted);
    size_t used = (size_t)snprintf(text, size, "ACL SETUSER %s", quoted);
    while (*rights != '\0' && used + 1 < size) {
        size_t length = strcspn(rights, " ");

        snprintf(word, sizeof word, "%.*s", (int)length, rights);
        cli_text_quote(word, quoted, sizeof quoted);
        used += (size_t)snprintf(text + used, size - used, " %s", quoted);
        rights += length;
        rights += strspn(rights, " ");
    }
}

/* What locks cannot do without, and else what this command needs beyond that. */
static const char *find_missing(const struct cli_session *session, const redlock_node_facts *facts)
{
    if (facts->missing_rights[0] != '\0')
        return facts->missing_rights;
    if (session->command & (CLI_LIST | CLI_WATCH))
        return facts->advisable_rights;
    return session->command & (CLI_ONCE | CLI_BARRIER) ? facts->mark_rights : "";
}

bool cli_rights_find(const struct cli_session *session, char *text, size_t size)
{
    uint32_t count = redlock_client_node_count(session->client);
    bool found = false;

    redlock_examine(session->client, NULL);
    for (uint32_t i = 0; i < count && !found; i++) {
        redlock_node_facts facts = REDLOCK_NODE_FACTS_INIT;
        const char *rights = "";

        if (redlock_client_node_facts(session->client, i, &facts) == REDLOCK_OK)
            rights = find_missing(session, &facts);
        found = rights[0] != '\0';
        if (found)
            cli_rights_line(cli_rights_user(session, &facts), rights, text, size);
    }
    return found;
}

void cli_rights_password(const struct cli_session *session, const char *detail, char *text, size_t size)
{
    const char *environment = getenv("REDLOCK_PASSWORD");
    const struct cli_config *config = &session->config;

    if (strstr(detail, "WRONGPASS") == NULL && strstr(detail, "invalid password") == NULL)
        snprintf(text, size, "set REDLOCK_PASSWORD, or user and password_file in the configuration");
    else if (environment != NULL && *environment != '\0')
        snprintf(text, size, "correct REDLOCK_PASSWORD, or the user whose password it is");
    else if (config->password_file != NULL)
        snprintf(text, size, "correct the password in %s, or the user whose password it is",
                 config->password_file);
    else if (config->password != NULL)
        snprintf(text, size, "correct user and password in the configuration");
    else
        snprintf(text, size, "correct the user and the password in its URL");
}

void cli_rights_credentials(const struct cli_session *session, const redlock_report *report, char *text,
                            size_t size)
{
    redlock_node_report node = REDLOCK_NODE_REPORT_INIT;
    const char *detail = "";

    for (uint32_t i = 0; redlock_report_node(report, i, &node); i++)
        if (node.cause == REDLOCK_CAUSE_CREDENTIALS)
            detail = node.detail;
    cli_rights_password(session, detail, text, size);
}
