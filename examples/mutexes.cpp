/*
 * Two names locked together by std::scoped_lock, and one by std::unique_lock if it is free: no deadlock,
 * whatever the order.
 * Usage: mutexes [NODES], by default REDLOCK_NODES
 */
#include <iostream>
#include <mutex>

#include <redlock.hpp>

int main(int argc, char **argv)
try {
    redlock::client client(argc > 1 ? argv[1] : "");
    redlock::mutex from(client, "account 1"), to(client, "account 2"), audit(client, "audit");
    {
        std::scoped_lock both(from, to);

        std::cout << "both, with fencing tokens " << from.fence() << " and " << to.fence() << std::endl;
    }
    std::unique_lock<redlock::mutex> if_free(audit, std::try_to_lock);

    std::cout << (if_free.owns_lock() ? "and the audit" : "the audit is busy") << std::endl;
    return 0;
} catch (const redlock::error &problem) {
    std::cerr << "mutexes: " << problem.what() << std::endl;
    return 1;
}
