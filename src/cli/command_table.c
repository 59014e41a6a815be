/*
 * The commands there are: their names, what follows them, and the function that carries each out.
 * It does not parse; options.c does.
 */
#include "cli/command_table.h"

#include "cli/options.h"

#define NEEDS_NAME "needs the NAME of a lock"

static const char run_text[] =
    "Options end at the first word after NAME that is not an option; -- always works.\n"
    "DUR is 250ms, 15s, 2m, 1h or a bare number of seconds.\n"
    "\n"
    "CMD starts when the lock is held and is stopped before the lock can go to\n"
    "another holder. It finds REDLOCK_NAME, REDLOCK_OWNER, REDLOCK_TTL_MS,\n"
    "REDLOCK_HELD and, when there is one, REDLOCK_FENCE in its environment.\n"
    "\n"
    "Exit codes: CMD's own, 128+n for signal n;\n"
    "  75 busy                         79 the lock was lost and CMD was stopped\n"
    "  69 too few nodes can be reached or may vote (redlock doctor says why)\n"
    "  77 the nodes refused the credentials or the rights\n"
    "  64 wrong usage                  78 wrong configuration\n"
    "  124 --max-time                  126, 127 CMD cannot be executed, is not found\n"
    "  129, 130, 131, 143 HUP, INT, QUIT, TERM came while waiting\n"
    "  70, 71 internal error, the system refused\n";

static const char acquire_text[] =
    "Prints the lease, one \"key value\" line each: name, owner, ttl_ms, validity_ms,\n"
    "fence. Nothing renews it: it ends after its TTL unless redlock extend is called\n"
    "in time. A process that knows the owner value can extend and release it.\n";

static const char owner_text[] = "Exit code 79 when this owner does not hold NAME.\n";

static const char status_text[] =
    "The first line says how many more nodes may fail. Exit code 0 when a quorum of\n"
    "nodes answered; 69 when not, 77 when they refused the credentials or the rights.\n"
    "With --check: 0 when a lock can be had and one more node may fail, 1 when none\n"
    "may, 69 when no lock can be had. Starts no local nodes.\n";

static const char doctor_text[] =
    "Looks at each node (version, role, rights, memory, persistence, clock, latency,\n"
    "notifications, TLS), at the fleet and at this host. Each finding says what it\n"
    "is, why it matters and how to fix it. Takes no lock and changes nothing.\n"
    "Exit code 0 when all is well, 1 with warnings, 69 when no lock can be had.\n";

static const char list_text[] =
    "GLOB is as in the KEYS command of Redis: *, ?, [a-z]; a backslash makes the next\n"
    "letter stand for itself. Nodes are not kept busy, however many keys they have.\n"
    "With --json one object a line. Exit code 0 when the list is complete, 69 when\n"
    "too few nodes could be asked, 77 when they refused the credentials or rights.\n";

static const char watch_text[] =
    "One line for each event: held, free (at first), acquired, extended, handed on,\n"
    "released, expired, lost, broken, unknown. JSON lines when stdout is no terminal.\n"
    "A single NAME is seen as soon as nodes notify; without NAME all locks are looked\n"
    "at about once a second. What begins and ends between two looks is not seen.\n";

static const char wait_text[] =
    "It takes nothing: when it returns, another may have the lock again. Exit code 0\n"
    "when NAME is free, 75 when it is not (-n, or -w ran out), 69 when too few nodes\n"
    "answered.\n";

static const char break_text[] =
    "Ends the hold with this ID on all nodes, and no other: a successor has another\n"
    "ID. The holder is told when it next renews, and the lock is free then. A holder\n"
    "that is stopped or cut off is not told before others can have the lock; only a\n"
    "resource that checks the fence is safe from it. Asks first on a terminal.\n"
    "Exit code 0 when that hold has ended, 79 when this ID does not hold NAME.\n";

static const char elect_text[] =
    "All hosts run the same line; one of them holds NAME, and its CMD runs. When the\n"
    "lock is lost CMD is stopped, and it waits to be elected again. It ends when CMD\n"
    "ends by itself, with its exit code. CMD finds its term in REDLOCK_FENCE.\n"
    "--observe prints a line whenever another one leads, JSON lines when stdout is no\n"
    "terminal. Exit codes are those of run.\n";

static const char once_text[] =
    "For the same cron job on many hosts. Whichever comes first runs CMD, and that it\n"
    "succeeded is noted at the nodes, by their clocks: those of hosts may differ.\n"
    "Within DUR the others exit with 0 and run nothing. A CMD that fails is not\n"
    "noted: the next one that comes, or waits, runs it again. Up to a second too\n"
    "early counts as in time. Exit codes are those of run; 69 also when too few nodes\n"
    "can tell whether it was done, or note that it was.\n";

static const char barrier_text[] =
    "Goes on, with exit code 0, when K parties have come; then the next K can. A\n"
    "party that dies counts until its lease ends (--ttl, 15s). Exit code 75 when -w\n"
    "ran out; it does not count any more then. It takes the lock barrier:NAME for a\n"
    "moment.\n";

static const char update_text[] =
    "Changes a key of one node without a lock. FILTER gets the value on stdin and\n"
    "prints the new one, all bytes of it, on stdout. REDLOCK_EXISTS tells it whether\n"
    "there is a value (yes) or not (no: stdin is empty), REDLOCK_KEY the key. When\n"
    "others change KEY meanwhile, FILTER runs again with the new value. An expiry of\n"
    "KEY stays. Without --nodes and with several nodes configured, --node says which.\n"
    "Exit code 0 when the new value is stored; FILTER's own when it fails, and KEY\n"
    "is left alone; 75 when all tries met another writer; 65 when KEY is no string or\n"
    "a value is longer than 4 MiB; 69 when the node cannot be reached.\n";

static const char init_text[] =
    "A node that was restarted or wiped does not vote until every lock it may have\n"
    "lost has ended. A new fleet has no locks: init says so and admits its nodes at\n"
    "once. If that is wrong, two clients can hold one lock; so it refuses when it\n"
    "sees one that is held, unless --force is given.\n";

static const char local_text[] =
    "The five private nodes are used when no nodes are configured; they start by\n"
    "themselves. Their locks hold for this user on this machine only.\n"
    "REDLOCK_LOCAL_DIR is where they live (default: below the runtime directory of\n"
    "the user), REDLOCK_SERVER the program (default: redis-server, else\n"
    "valkey-server). Locks that are held there are lost when they are stopped.\n";

static const char serve_text[] =
    "Programs in any language take locks over HTTP and JSON (redlock-serve(1)), and\n"
    "Redis lock libraries with --resp by changing a port. Any number of instances may\n"
    "serve the same nodes. Beyond this machine it needs serve_access in the\n"
    "configuration: who may do what.\n";

static const char bench_text[] =
    "Asks all nodes as fast as they answer (the bare loop), then takes and releases\n"
    "locks: one caller, then 16 at once, each with a name of its own that nobody else\n"
    "uses. Prints how long half of the calls took, and 99 in 100, and how many there\n"
    "were a second. Other users of the nodes notice the load.\n";

static const char completion_text[] =
    "bash:  source <(redlock completion bash)\n"
    "zsh:   redlock completion zsh >\"${fpath[1]}/_redlock\"\n"
    "fish:  redlock completion fish >~/.config/fish/completions/redlock.fish\n";

static const struct cli_command commands[] = {
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
    {"list", "[GLOB]", "every lock that a quorum of nodes has", list_text, CLI_LIST, 0, 1, NULL, false,
     cli_command_list},
    {"watch", "[NAME]", "what happens to NAME, or to all locks", watch_text, CLI_WATCH, 0, 1, NULL, false,
     cli_command_watch},
    {"wait", "NAME [-n | -w DUR]", "block until NAME is free, without taking it", wait_text, CLI_WAIT, 1, 1,
     NEEDS_NAME, false, cli_command_wait},
    {"break", "NAME --id ID [--yes]", "end somebody's hold by force", break_text, CLI_BREAK, 1, 1, NEEDS_NAME,
     false, cli_command_break},
    {"elect", "NAME [options] [--] CMD [ARG...]", "run CMD on one host at a time, for ever", elect_text,
     CLI_ELECT, 1, 1, NEEDS_NAME, true, cli_command_elect},
    {"once", "NAME --every DUR [options] [--] CMD [ARG...]", "run CMD at most once a period over all hosts",
     once_text, CLI_ONCE, 1, 1, NEEDS_NAME, true, cli_command_once},
    {"barrier", "NAME --parties K [-w DUR]", "go on when K have come", barrier_text, CLI_BARRIER, 1, 1,
     "needs the NAME of a barrier", false, cli_command_barrier},
    {"update", "KEY [options] [--] FILTER [ARG...]", "change a key of one node without a lock", update_text,
     CLI_UPDATE, 1, 1, "needs the KEY to change", true, cli_command_update},
    {"doctor", "", "what is wrong with nodes, fleet and host, and how to fix it", doctor_text, CLI_DOCTOR, 0,
     0, NULL, false, cli_command_doctor},
    {"init", "[--yes] [--force]", "admit the nodes of a new fleet at once", init_text, CLI_INIT, 0, 0, NULL,
     false, cli_command_init},
    {"local", "start|stop|status", "the five private nodes used when none are configured", local_text,
     CLI_LOCAL, 1, 1, "needs one of start, stop, status", false, cli_command_local},
    {"serve", "[options]", "a lock service over HTTP, and for Redis lock libraries", serve_text, CLI_SERVE, 0,
     0, NULL, false, cli_command_serve},
    {"bench", "[--for DUR]", "how fast this fleet is from this host, in ten seconds", bench_text, CLI_BENCH,
     0, 0, NULL, false, cli_command_bench},
    {"completion", "bash|zsh|fish", "print a completion script", completion_text, CLI_COMPLETION, 1, 1,
     "needs one of bash, zsh, fish", false, cli_command_completion},
    {"help", "[COMMAND]", "say more about a command", NULL, CLI_HELP, 0, 1, NULL, false, cli_command_help},
    {"version", "", "print the version", NULL, CLI_VERSION, 0, 0, NULL, false, cli_command_version},
};

const struct cli_commands cli_command_table = {commands, sizeof commands / sizeof commands[0]};
