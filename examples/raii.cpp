/*
 * Holds a lock for as long as the work takes, and stops when it is lost: renew.c in C++.
 * Usage: raii [NODES], by default REDLOCK_NODES
 */
#include <iostream>
#include <thread>

#include <redlock.hpp>

using namespace std::chrono_literals;

int main(int argc, char **argv)
try {
    redlock::client client(argc > 1 ? argv[1] : "");
    redlock::spec spec{"import"};
    int steps = 0;

    spec.ttl = 4s; /* a dead holder is noticed this soon, however long the work is */
    redlock::lock lock = client.acquire(spec);

    for (; steps < 50 && !lock.lost(); steps++)
        std::this_thread::sleep_for(100ms); /* a step of the work that may be the last */
    lock.release();                         /* throws when it was not ours to the end */
    std::cout << steps << " steps" << std::endl;
    return 0;
} catch (const redlock::error &problem) {
    std::cerr << "raii: " << problem.what() << std::endl;
    return 1;
}
