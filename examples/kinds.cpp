/*
 * The kinds of lock in C++: one of four slots, two names at once, a lock that is entered again, and readers
 * that share a name.
 * Usage: kinds [NODES], by default REDLOCK_NODES
 */
#include <iostream>
#include <mutex>
#include <shared_mutex>

#include <redlock.hpp>

static void use_slot(redlock::client &client)
{
    redlock::spec spec{"gpus"};

    spec.kind = redlock::kind::semaphore;
    spec.permits = 4; /* the same for all who use it */
    redlock::lock lock = client.acquire(spec);

    std::cout << "working on gpu " << lock.slot().value() << ", " << client.inspect_slots("gpus").held.size()
              << " of 4 in use" << std::endl;
}

static void move_between_accounts(redlock::client &client)
{
    redlock::spec spec{"account:3"};

    spec.also = {"account:7"}; /* both, or none of them */
    redlock::lock lock = client.acquire(spec);

    for (const std::string &name : lock.names())
        std::cout << name << ", fence " << lock.fence() << std::endl;
}

/* Alone, or inside of a caller that has the lock already. */
static void append_to_log(redlock::mutex &log, const char *words)
{
    std::lock_guard<redlock::mutex> guard(log);

    std::cout << words << std::endl;
}

static void log_twice(redlock::client &client)
{
    redlock::spec spec{"log"};

    spec.reentrant = true;
    redlock::mutex log(client, spec);
    std::lock_guard<redlock::mutex> guard(log);

    append_to_log(log, "moved");
    append_to_log(log, "done");
}

static void read_catalogue(redlock::client &client)
{
    redlock::shared_mutex catalogue(client, "catalogue");
    std::shared_lock<redlock::shared_mutex> guard(catalogue);

    std::cout << client.inspect("catalogue").sharer_count() << " read it" << std::endl;
}

int main(int argc, char **argv)
try {
    redlock::client client(argc > 1 ? argv[1] : "");

    use_slot(client);
    move_between_accounts(client);
    log_twice(client);
    read_catalogue(client);
    return 0;
} catch (const redlock::error &problem) {
    std::cerr << "kinds: " << problem.what() << std::endl;
    return 1;
}
