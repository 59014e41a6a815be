/*
 * A lock is released once, whatever becomes of the objects that have it: moved, swapped, thrown through and
 * destroyed in any order. Counted at real nodes, in plain mode, where a lock is a SET and a release by
 * script.
 */
#include <algorithm>
#include <atomic>
#include <future>
#include <optional>

#include <sys/wait.h>

#include "tap.hpp"

using namespace std::chrono_literals;

/* The thread sanitizer would end a child after a fork of a threaded program; ours may be forked. Nor does it
 * see that the child makes the library's mutexes anew. */
extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options()
{
    return "die_after_fork=0:report_destroy_locked=0";
}

static tap::nodes *fleet;

static redlock::client open_client()
{
    return redlock::client(fleet->options(redlock::mode::plain));
}

/* Not renewed: renewals carry the owner value too. */
static redlock::spec lasting(const char *name)
{
    redlock::spec spec{name};

    spec.ttl = 50s;
    spec.renew = false;
    return spec;
}

static std::string lines_of(const std::vector<std::string> &lines)
{
    std::string all;

    for (const std::string &line : lines)
        all += "\n# " + line;
    return all;
}

/* Runs something with a client of its own and the owner values that it notes; then each of them was released
 * that often on every node that was asked for it, which a late one may not have been, and nothing is left
 * there. */
static void releases_each(int times,
                          const std::function<void(redlock::client, std::vector<std::string> &)> &run)
{
    tap::monitor monitor(*fleet);
    std::vector<std::string> owners;

    run(open_client(), owners);
    monitor.catch_up();
    CHECK(!owners.empty());
    for (const std::string &owner : owners) {
        int asked = 0;

        CHECK(owner.size() >= 16);
        for (int i = 0; i < fleet->size(); i++) {
            auto node = static_cast<std::size_t>(i);
            int count = monitor.releases(node, owner);
            bool was_asked = !monitor.about(node, owner).empty();

            asked += was_asked;
            if (count != (was_asked ? times : 0))
                throw tap::failed("node " + std::to_string(i) + " was asked to release " +
                                  std::to_string(count) + " times" + lines_of(monitor.about(node, owner)));
        }
        CHECK(2 * asked > fleet->size());
    }
}

static redlock::lock note(redlock::lock lock, std::vector<std::string> &owners)
{
    CHECK(lock.held());
    owners.emplace_back(lock.owner());
    return lock;
}

TEST(the_end_of_a_block_releases_once)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock lock = note(client.acquire(lasting("block")), owners);

        CHECK(lock.name() == "block");
    });
    CHECK(fleet->copies("block") == 0);
}

TEST(a_release_and_then_the_end_release_once)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock lock = note(client.acquire(lasting("early")), owners);
        redlock::report report;

        lock.release();
        CHECK(!lock && !lock.held() && !lock.lost() && lock.owner().empty() && lock.fence() == 0);
        CHECK(lock.release(report) == redlock::result::not_held);
        THROWS(redlock::not_held, lock.release());
    });
}

TEST(a_moved_lock_is_released_by_its_last_object)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock first = note(client.acquire(lasting("moved")), owners);
        redlock::lock second(std::move(first));
        redlock::lock third;

        third = std::move(second);
        redlock::lock &same = third;
        third = std::move(same);
        CHECK(third.held() && !first && !second);
    });
}

TEST(a_lock_that_another_one_is_moved_onto_is_released)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock lock = note(client.acquire(lasting("onto-1")), owners);

        lock = note(client.acquire(lasting("onto-2")), owners);
        CHECK(lock.name() == "onto-2");
        AWAIT(fleet->copies("onto-1") == 0);
        lock = redlock::lock();
        AWAIT(fleet->copies("onto-2") == 0);
    });
}

TEST(swapped_locks_are_released_once_each)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock one = note(client.acquire(lasting("swap-1")), owners);
        redlock::lock none;
        {
            redlock::lock two = note(client.acquire(lasting("swap-2")), owners);

            swap(one, two);
            std::swap(two, none);
            CHECK(one.name() == "swap-2" && none.name() == "swap-1" && !two);
        }
        CHECK(one.held() && none.held());
    });
}

TEST(locks_in_a_vector_are_released_once_each_in_any_order)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        std::vector<redlock::lock> locks;

        for (int i = 0; i < 20; i++)
            locks.push_back(note(client.acquire(lasting(("many-" + std::to_string(i)).c_str())), owners));
        std::reverse(locks.begin() + 3, locks.end());
        std::rotate(locks.begin(), locks.begin() + 7, locks.end());
        locks.erase(locks.begin() + 5, locks.begin() + 9);
        CHECK(locks.size() == 16 && locks.front().held());
    });
}

TEST(a_lock_that_is_thrown_through_is_released_once)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        THROWS(std::out_of_range, {
            redlock::lock lock = note(client.acquire(lasting("thrown")), owners);
            std::optional<redlock::lock> moved(std::move(lock));

            throw std::out_of_range("the work failed");
        });
    });
}

TEST(a_client_that_ends_before_its_locks_releases_them_once)
{
    releases_each(1, [](redlock::client given, auto &owners) {
        std::vector<redlock::lock> locks;
        redlock::lock later;
        {
            redlock::client client(std::move(given));

            for (const char *name : {"before-1", "before-2", "before-3"})
                locks.push_back(note(client.acquire(lasting(name)), owners));
            later = std::move(locks[1]);
        }
        CHECK(later && !later.held() && later.lost());
        redlock::report report;

        CHECK(later.release(report) == redlock::result::misuse);
        CHECK(locks[0].extend(1s, report) == redlock::result::misuse);
    });
}

TEST(a_lock_handed_to_another_thread_is_released_once)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::spec spec = lasting("thread");
        redlock::lock lock;

        std::thread([&] { lock = note(client.acquire(spec), owners); }).join();
        std::thread([lock = std::move(lock)] { CHECK(lock.held()); }).join();
    });
}

TEST(a_lock_that_is_left_is_not_released_until_it_is_adopted)
{
    std::string owner;

    releases_each(0, [&](redlock::client client, auto &owners) {
        redlock::lock lock = note(client.acquire(lasting("left")), owners);

        owner = lock.leave();
        CHECK(!lock && owner == owners[0]);
    });
    CHECK(fleet->copies("left") == fleet->size());
    redlock::client client = open_client();

    CHECK(client.adopt(lasting("left"), owner).owner() ==
          owner); /* and gives it back at the end of the line */
    AWAIT(fleet->copies("left") == 0);
    client.close();
}

TEST(a_lock_that_a_callable_drops_is_released_once)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        std::promise<void> called;

        client.acquire_async(lasting("dropped"), [&](redlock::lock lock, const redlock::report_view &report) {
            CHECK(report.ok());
            owners.emplace_back(lock.owner());
            called.set_value();
        });
        called.get_future().wait();
        AWAIT(client.stats().held == 0);
    });
}

TEST(an_asynchronous_release_is_one)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock lock = note(client.acquire(lasting("async")), owners);
        std::promise<bool> called;

        lock.release_async([&](const redlock::report_view &report) { called.set_value(report.ok()); });
        CHECK(!lock);
        CHECK(called.get_future().get());
        THROWS(redlock::not_held, lock.release_async([](const redlock::report_view &) {}));
    });
}

TEST(a_program_with_an_event_loop_releases_without_waiting)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        std::vector<redlock::lock> locks;

        CHECK(client.fd() >= 0);
        for (const char *name : {"loop-1", "loop-2", "loop-3"})
            locks.push_back(note(client.acquire(lasting(name)), owners));
        locks.clear();
        AWAIT((client.process(), client.stats().released == 3));
    });
}

TEST(a_lock_destroyed_by_its_own_on_lost_is_freed)
{
    redlock::client client = open_client();
    redlock::lock lock;
    std::atomic<bool> told{false};
    redlock::spec spec{"suicide"};

    spec.ttl = 300ms;
    spec.on_lost = [&](const redlock::report_view &) {
        lock = redlock::lock();
        told = true;
    };
    lock = client.acquire(spec);
    fleet->ask_all("SET", "suicide", "another");
    AWAIT(told.load());
    fleet->ask_all("DEL", "suicide");
    CHECK(client.acquire("suicide").held());
}

TEST(a_forked_child_releases_nothing)
{
    releases_each(1, [](redlock::client client, auto &owners) {
        redlock::lock lock = note(client.acquire(lasting("forked")), owners);
        pid_t child = fork();
        int status = -1;

        if (child == 0) {
            bool inert = !lock.held() && !client.try_acquire_for(lasting("other"), 1ms, *new redlock::report);

            lock = redlock::lock();
            client.close();
            _exit(inert ? 0 : 1);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(lock.held());
    });
}

int main()
{
    tap::nodes nodes(3);

    fleet = &nodes;
    return tap::run_all();
}
