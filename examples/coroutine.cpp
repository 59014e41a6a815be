/*
 * A coroutine that waits for a lock and gives it back, driven by a poll loop on this thread: no other one
 * runs any of it. Without a loop, a thread of the library would resume it. Needs C++20. Usage: coroutine
 * [NODES], by default REDLOCK_NODES
 */
#include <iostream>

#include <poll.h>

#include <redlock.hpp>

#if defined(__cpp_lib_coroutine)

/* The least that a coroutine needs; your program has a better one. */
struct task {
    struct promise_type {
        task get_return_object()
        {
            return {};
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_never final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::terminate();
        }
    };
};

static task work(redlock::client &client, int &code)
{
    try {
        redlock::lock lock = co_await client.co_acquire("coroutine", std::chrono::seconds(5));

        std::cout << "fencing token " << lock.fence() << std::endl;
        co_await lock.co_release();
        code = 0;
    } catch (const redlock::error &problem) {
        std::cerr << "coroutine: " << problem.what() << std::endl;
        code = 1;
    }
}

int main(int argc, char **argv)
try {
    redlock::client client(argc > 1 ? argv[1] : "");
    pollfd polled{client.fd(), POLLIN, 0};
    int code = -1;

    work(client, code);
    while (code < 0 && poll(&polled, 1, -1) >= 0)
        client.process();
    return code;
} catch (const redlock::error &problem) {
    std::cerr << "coroutine: " << problem.what() << std::endl;
    return 1;
}

#else

int main()
{
    std::cerr << "coroutine: this compiler has no coroutines" << std::endl;
    return 77;
}

#endif
