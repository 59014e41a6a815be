/*
 * The command redlock: finds the command word, has its options read and carries it out.
 * It does nothing else; every command has a file of its own.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_table.h"
#include "cli/exits.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/suggest.h"

/* A descriptor that the caller closed must not be handed out again for one of ours: CMD would write into it.
 * The stand-ins are closed on exec, so that CMD finds what the caller left. What cannot be printed must fail,
 * so the one for stdout takes no words. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", (fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

/* redlock --help and redlock --version are what people try first. */
static const char *command_word(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return "version";
    return word;
}

int main(int argc, char **argv)
{
    struct cli_options options;

    fill_standard_descriptors();
    /* A caller that ignores it would have the kernel take away the exit codes of our children. */
    signal(SIGCHLD, SIG_DFL);
    cli_output_configure(false, false, false, false);
    if (argc < 2) {
        cli_output_fail(CLI_EXIT_USAGE, "missing command, such as: redlock run NAME -- CMD");
        cli_output_hint("see", "redlock help");
        return CLI_EXIT_USAGE;
    }
    const char *word = command_word(argv[1]);
    const struct cli_command *command = cli_command_find(&cli_command_table, word);
    if (command == NULL)
        return *word == '-' ? cli_command_missing(argv + 1)
                            : cli_command_unknown(&cli_command_table, word, argv + 2);

    int code = cli_options_parse(command, argc - 2, argv + 2, &options);
    if (code != 0)
        return code;
    options.commands = &cli_command_table;
    cli_suggest_configure(&options);
    cli_output_configure(options.quiet, options.verbose, options.json, options.no_color);
    if (options.help) {
        cli_help_print(command);
        return cli_output_flush() ? CLI_EXIT_OK : CLI_EXIT_SYSTEM;
    }
    return command->carry_out(&options);
}
