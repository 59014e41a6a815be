/*
 * The commands there are: their names, what follows them, and the function that carries each out.
 * It does not parse; options.c does.
 */
#include "cli/commands.h"

#include <string.h>

#include "cli/exits.h"
#include "cli/output.h"
#include "cli/text.h"

#define NEEDS_NAME "needs the NAME of a lock"

static const char run_text[] =
    "Options end at the first word after NAME that is not an option; -- always works.\n"
    "DUR is 250ms, 15s, 2m, 1h or a bare number of seconds.\n"
    "\n"
    "CMD starts when the lock is held and is stopped before the lock can go to somebody else.\n"
    "It finds REDLOCK_NAME, REDLOCK_OWNER, REDLOCK_TTL_MS, REDLOCK_HELD and, when there is one,\n"
    "REDLOCK_FENCE in its environment.\n"
    "\n"
    "Exit codes: CMD's own, 128+n for signal n;\n"
    "  75 busy                         79 the lock was lost and CMD was stopped\n"
    "  69 too few nodes can be reached or may vote (redlock status says why)\n"
    "  77 the nodes refused the credentials or the rights\n"
    "  64 wrong usage                  78 wrong configuration\n"
    "  124 --max-time                  126, 127 CMD cannot be executed, is not found\n"
    "  129, 130, 131, 143 HUP, INT, QUIT, TERM came while waiting\n"
    "  70, 71 internal error, the system refused\n";

static const char acquire_text[] =
    "Prints the lease, one \"key value\" line each: name, owner, ttl_ms, validity_ms, fence.\n"
    "Nothing renews it: it ends after its TTL unless redlock extend is called in time.\n"
    "Whoever knows the owner value can extend and release the lock.\n";

static const char owner_text[] = "Exit code 79 when this owner does not hold NAME any more.\n";

static const char status_text[] =
    "Exit code 0 when a quorum of nodes answered; 69 when not, 77 when they refused the\n"
    "credentials or the rights. Without NAME: how the nodes are, and which of them may vote.\n";

static const char init_text[] =
    "A node that does not remember what was locked does not vote until every lock it may have\n"
    "forgotten has ended. A new fleet has nothing to remember: init says so and admits its nodes\n"
    "at once. Said while a lock is held somewhere, it can put that lock into two hands; so it refuses\n"
    "when it sees one, unless --force is given.\n";

static const char local_text[] =
    "The five private nodes are used when no nodes are configured; they start by themselves.\n"
    "REDLOCK_LOCAL_DIR is where they live (default: below the runtime directory of the user),\n"
    "REDLOCK_SERVER the program (default: redis-server, else valkey-server).\n"
    "Whoever holds a lock there loses it when they are stopped.\n";

static const char serve_text[] =
    "Programs in any language take locks over HTTP and JSON (redlock-serve(1)), and Redis lock libraries\n"
    "with --resp by changing a port. Any number of instances may serve the same nodes. Beyond this\n"
    "machine it wants serve_access in the configuration: who may do what.\n";

static const char completion_text[] =
    "bash:  source <(redlock completion bash)\n"
    "zsh:   redlock completion zsh >\"${fpath[1]}/_redlock\"\n"
    "fish:  redlock completion fish >~/.config/fish/completions/redlock.fish\n";

const struct cli_command cli_commands[] = {
    {"run", "NAME [options] [--] CMD [ARG...]", "hold NAME while CMD runs", run_text, CLI_RUN, 1, 1,
     NEEDS_NAME, true, cli_command_run},
    {"acquire", "NAME --ttl DUR [options]", "take NAME, print the lease, exit", acquire_text, CLI_ACQUIRE, 1,
     1, NEEDS_NAME, false, cli_command_acquire},
    {"extend", "NAME --owner-token OWNER [--ttl DUR]", "lengthen a lease that acquire took", owner_text,
     CLI_EXTEND, 1, 1, NEEDS_NAME, false, cli_command_extend},
    {"release", "NAME --owner-token OWNER", "give it back", owner_text, CLI_RELEASE, 1, 1, NEEDS_NAME, false,
     cli_command_release},
    {"status", "[NAME]", "who holds NAME, and what each node says", status_text, CLI_STATUS, 0, 1, NULL,
     false, cli_command_status},
    {"init", "[--yes] [--force]", "admit the nodes of a new fleet at once", init_text, CLI_INIT, 0, 0, NULL,
     false, cli_command_init},
    {"local", "start|stop|status", "the five private nodes used when none are configured", local_text,
     CLI_LOCAL, 1, 1, "needs one of start, stop, status", false, cli_command_local},
    {"serve", "[options]", "a lock service over HTTP, and for Redis lock libraries", serve_text, CLI_SERVE, 0,
     0, NULL, false, cli_command_serve},
    {"completion", "bash|zsh|fish", "print a completion script", completion_text, CLI_COMPLETION, 1, 1,
     "needs one of bash, zsh, fish", false, cli_command_completion},
    {"help", "[COMMAND]", "say more about a command", NULL, CLI_HELP, 0, 1, NULL, false, cli_command_help},
    {"version", "", "print the version", NULL, CLI_VERSION, 0, 0, NULL, false, cli_command_version},
};

const size_t cli_command_count = sizeof cli_commands / sizeof cli_commands[0];

const struct cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < cli_command_count; i++)
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    return NULL;
}

int cli_command_unknown(const char *name)
{
    const char *near = NULL;
    int least = 3;

    for (size_t i = 0; i < cli_command_count; i++) {
        int distance = cli_text_distance(cli_commands[i].name, name);
        if (distance < least) {
            near = cli_commands[i].name;
            least = distance;
        }
    }
    if (near == NULL)
        cli_output_fail(CLI_EXIT_USAGE, "there is no command \"%s\"", name);
    else
        cli_output_fail(CLI_EXIT_USAGE, "there is no command \"%s\"; did you mean %s?", name, near);
    cli_output_hint("see", "redlock help");
    return CLI_EXIT_USAGE;
}
