/*
 * The names that are held above us: REDLOCK_HELD lists them (percent-encoded, with blanks between them), and
 * REDLOCK_HELD_ON says in the same order on which nodes, by which owner and how. It decides only whether that
 * is still true.
 */
#include "cli/held.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exits.h"
#include "cli/output.h"
#include "cli/sharers.h"
#include "cli/text.h"

#define NAMES "REDLOCK_HELD"
#define PLACES "REDLOCK_HELD_ON"
#define OWNER_SIZE (sizeof((redlock_holder *)NULL)->id)
#define KEPT "-_.~:/@+={}[]!*,;" /* often seen in names, and no blanks */

enum { ALONE = 'x', SHARED = 's', SLOT = 'k' }; /* how it is held */

struct cli_fleet cli_held_fleet(const redlock_client *client, const char *prefix)
{
    struct cli_fleet fleet;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < redlock_client_node_count(client); i++)
        sum += cli_text_hash(CLI_TEXT_HASH, redlock_client_node_url(client, i));
    snprintf(fleet.text, sizeof fleet.text, "%016" PRIx64, cli_text_hash(sum, prefix == NULL ? "" : prefix));
    return fleet;
}

/* Cuts the next word off a list; its length is 0 at the end. */
static size_t next_word(const char **list, const char **word)
{
    *word = *list + strspn(*list, " ");
    size_t length = strcspn(*word, " ");
    *list = *word + length;
    return length;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value == NULL ? "" : value;
}

/* What the environment says of a name: by which owner it is held above us, "" when it does not say, and
 * how. */
struct said {
    char owner[OWNER_SIZE];
    char how;
};

/* Reads "FLEET@OWNER" or "FLEET@OWNER/HOW"; older programs do not say how, nor does one that holds it
 * alone. */
static struct said read_place(const char *place, size_t length, size_t fleet_length)
{
    struct said said = {.how = ALONE};

    if (length <= fleet_length)
        return said;
    const char *owner = place + fleet_length + 1;
    size_t owner_length = strcspn(owner, "/ ");
    snprintf(said.owner, sizeof said.owner, "%.*s", (int)owner_length, owner);
    if (owner[owner_length] == '/')
        said.how = owner[owner_length + 1];
    return said;
}

/* Whether the environment says that `name` is held above us on these nodes. The innermost counts: those
 * before it are of runs that are gone, or it would not have got the lock. A name whose nodes are not told
 * counts as one on ours: better a clear error than a wait without end. */
static bool is_said_to_be_held(const char *name, const struct cli_fleet *fleet, struct said *said)
{
    const char *names = variable(NAMES), *places = variable(PLACES), *held, *place;
    char *encoded = cli_text_percent_encode(name, KEPT);
    bool found = false;

    for (size_t length; encoded != NULL && (length = next_word(&names, &held)) > 0;) {
        size_t place_length = next_word(&places, &place), fleet_length = strcspn(place, "@ ");
        bool same_fleet = place_length == 0 || strncmp(place, fleet->text, fleet_length) == 0;
        if (!same_fleet || strlen(encoded) != length || memcmp(held, encoded, length) != 0)
            continue;
        *said = read_place(place, place_length, fleet_length);
        found = true;
    }
    free(encoded);
    return found;
}

struct slot_search {
    const char *owner;
    bool found;
};

static int compare_slot(void *context, const redlock_slot *slot)
{
    struct slot_search *search = context;

    search->found = search->found || strcmp(slot->holder.id, search->owner) == 0;
    return search->found;
}

static bool has_slot(const struct cli_session *session, const char *name, const char *owner)
{
    redlock_report report = REDLOCK_REPORT_INIT;
    struct slot_search search = {.owner = owner};
    uint32_t permits = 0;

    return redlock_inspect_slots(session->client, name, 0, compare_slot, &search, &permits, &report) ==
               REDLOCK_OK &&
           search.found;
}

/* Of a shared lock a report may not name all; in Redisson's format it names one. */
static bool may_be_sharer(const struct cli_session *session, const redlock_report *report, const char *owner)
{
    return session->config.redisson || cli_sharers_have(report, owner) || !cli_sharers_are_named(report);
}

/* A process may outlive the redlock run that started it. So the nodes are asked: unless a quorum has another
 * owner, or none, what the environment says is still true. */
static bool is_still_held(const struct cli_session *session, const char *name, const struct said *said)
{
    redlock_report report = cli_session_second_report(session);

    if (said->how == SLOT)
        return has_slot(session, name, said->owner);
    if (redlock_inspect(session->client, name, 0, &report) != REDLOCK_OK)
        return false; /* the acquisition will say why */
    if (report.held < report.quorum)
        return false;
    if (said->owner[0] == '\0' || report.holder.id[0] == '\0')
        return true;
    return said->how == SHARED ? may_be_sharer(session, &report, said->owner)
                               : strcmp(report.holder.id, said->owner) == 0;
}

static bool is_held_above(const struct cli_session *session, const char *name, struct said *said)
{
    struct cli_fleet fleet = cli_held_fleet(session->client, session->config.prefix);

    return is_said_to_be_held(name, &fleet, said) && is_still_held(session, name, said);
}

int cli_held_check(const struct cli_session *session, const char *name)
{
    struct said said;

    if (!is_held_above(session, name, &said))
        return 0;
    cli_output_fail(CLI_EXIT_USAGE, "%s is held by a redlock run above this one: it would wait for itself",
                    name);
    if (said.how == ALONE)
        cli_output_hint("fix",
                        "leave it out, or run CMD under the lock that is there: redlock run --reentrant");
    return CLI_EXIT_USAGE;
}

int cli_held_enter(const struct cli_session *session, const char *name, bool *inside)
{
    struct said said;

    *inside = is_held_above(session, name, &said);
    if (!*inside || said.how == ALONE)
        return 0;
    return cli_output_fail(
        CLI_EXIT_USAGE,
        "%s is held %s by a redlock run above this one: it cannot be held alone inside of that", name,
        said.how == SHARED ? "shared" : "as a semaphore");
}

/* Frees the list, and returns a longer one. */
static char *append(char *list, const char *word)
{
    char *longer = NULL;

    if (list == NULL || word == NULL || asprintf(&longer, "%s%s%s", list, *list == '\0' ? "" : " ", word) < 0)
        longer = NULL;
    free(list);
    return longer;
}

bool cli_held_extend(const char *const *held, int count, const struct cli_fleet *fleet, const char *owner,
                     redlock_kind kind, char **names, char **places)
{
    const char *how = kind == REDLOCK_SHARED ? "/s" : kind == REDLOCK_SEMAPHORE ? "/k" : "";
    char place[sizeof fleet->text + OWNER_SIZE + sizeof "/s"];

    snprintf(place, sizeof place, "%s@%.*s%s", fleet->text, (int)OWNER_SIZE - 1, owner, how);
    *names = strdup(variable(NAMES));
    *places = strdup(variable(PLACES));
    for (int i = 0; i < count; i++) {
        char *encoded = cli_text_percent_encode(held[i], KEPT);

        *names = append(*names, encoded);
        *places = append(*places, place);
        free(encoded);
    }
    return *names != NULL && *places != NULL;
}
