/*
 * The calls of redlock.hpp on five real nodes: results and exceptions, times, callables, cancelling, mutexes,
 * event loops, stop tokens and coroutines where the compiler has them. That locks are released once is in
 * once_test.cpp.
 */
#include <atomic>
#include <future>
#include <memory>

#include <poll.h>

#include "tap.hpp"

using namespace std::chrono_literals;

static tap::nodes *fleet;

static redlock::client open_client()
{
    return redlock::client(fleet->options());
}

static redlock::spec with_why(const char *name, const char *why)
{
    redlock::spec spec{name};

    spec.why = why;
    spec.tag = std::string("\0any\xff", 5);
    return spec;
}

/* ---- results and exceptions ---------------------------------------------------------------------------- */

TEST(a_lock_has_a_fence_that_rises_and_a_validity)
{
    redlock::client client = open_client();
    std::uint64_t first = client.acquire("fence").fence();
    redlock::lock lock = client.acquire("fence");

    CHECK(first > 0 && lock.fence() > first);
    CHECK(lock.validity() > 5s && lock.validity() <= 15s);
    CHECK(client.node_count() == 5 && client.node_url(4).substr(0, 7) == "unix://" &&
          client.node_url(5).empty());
}

TEST(a_held_lock_is_busy_and_the_report_says_who_has_it)
{
    redlock::client client = open_client();
    redlock::lock lock = client.acquire(with_why("busy", "first"));
    redlock::report report;

    CHECK(!client.try_acquire("busy"));
    CHECK(!client.try_acquire("busy", report) && report.result() == redlock::result::busy);
    CHECK(report.holder().value().why == "first" &&
          report.holder()->pid == static_cast<std::uint32_t>(getpid()));
    CHECK(report.holder()->tag == std::string("\0any\xff", 5));
    CHECK(report.nodes().size() == 5 && report.nodes()[0].url == client.node_url(0));
    CHECK(!client.try_acquire_for("busy", 1500us));
    CHECK(!client.try_acquire_until("busy", std::chrono::steady_clock::now() + 2ms, report));
    CHECK(report.result() == redlock::result::timeout);
    CHECK(!client.try_acquire_until("busy", std::chrono::system_clock::now() - 1h));
}

TEST(errors_are_exceptions_with_the_report_or_results)
{
    redlock::client client = open_client();
    redlock::spec spec{"invalid"};
    redlock::report report;

    spec.ttl = 1ms;
    THROWS(redlock::invalid, (void)client.acquire(spec));
    CHECK(!client.acquire(spec, report) && report.result() == redlock::result::invalid &&
          !report.line().empty());
    THROWS(redlock::invalid, redlock::client("http://somewhere"));
    redlock::options options;

    options.nodes = "http://somewhere";
    CHECK(!redlock::client::open(options, report) && !report.ok());
    try {
        client.release_owner("nothing", "nobody");
        CHECK(false);
    } catch (const redlock::error &problem) {
        redlock::error copy = problem;

        CHECK(copy.code() == redlock::result::not_held && copy.report().nodes().size() == 5);
        CHECK(copy.what() == std::string(copy.report().line()));
    }
    CHECK(redlock::name_of(redlock::result::busy) == "busy");
}

TEST(a_closed_or_empty_client_says_so)
{
    redlock::client client = open_client();
    redlock::report report;
    redlock::result began = redlock::result::ok;

    client.close();
    CHECK(!client && !client.acquire("closed", report) && report.result() == redlock::result::misuse);
    THROWS(redlock::misuse, (void)client.try_acquire("closed"));
    THROWS(redlock::misuse,
           client.acquire_async("closed", [](redlock::lock, const redlock::report_view &) {}));
    CHECK(!client.adopt_async(
        "closed", "owner", [](redlock::lock, const redlock::report_view &) {}, began));
    CHECK(began == redlock::result::misuse && client.fd() == -1 && client.node_count() == 0);
    client.close();
}

TEST(reports_can_be_copied_moved_and_used_again)
{
    redlock::client client = open_client();
    redlock::lock lock = client.acquire(with_why("copied", "why"));
    redlock::report report = client.inspect("copied");
    redlock::report copy(report), moved(std::move(report));

    CHECK(copy.holder()->why == "why" && moved.nodes().size() == 5 && report.ok() && report.nodes().empty());
    CHECK(copy.nodes()[0].owner.value() == lock.owner());
    CHECK(client.inspect("nobody's", report) == redlock::result::ok && !report.holder());
    copy = report;
    CHECK(!copy.holder() && moved.holder());
}

/* A quorum has granted it; any of the nodes may have been late. */
static std::uint64_t count_granted(const redlock::client &client)
{
    std::uint64_t granted = 0;

    for (std::uint32_t node = 0; node < 5; node++)
        granted += client.node_stats(node).granted;
    return granted;
}

TEST(a_lock_can_be_extended_inspected_and_released_by_its_owner_value)
{
    redlock::client client = open_client();
    redlock::spec spec{"extended"};

    spec.ttl = 10s;
    spec.renew = false;
    redlock::lock lock = client.acquire(spec);

    lock.extend(60s);
    CHECK(lock.validity() > 20s);
    client.release_owner("extended", lock.owner());
    THROWS(redlock::not_held, lock.extend());
    CHECK(lock.lost());
    CHECK(client.stats().acquired == 1 && count_granted(client) >= 3);
    CHECK(client.prometheus({{"job", "test"}}).find("job=\"test\"") != std::string::npos);
    CHECK(client.prometheus({{"no name", "test"}}).empty());
    client.examine();
    CHECK(client.node_facts(4).examined == 1 && client.node_facts(5).version[0] == '\0');
}

TEST(a_fair_lock_is_a_kind_like_any_other)
{
    redlock::client client = open_client();
    redlock::spec spec{"fair"};

    spec.kind = redlock::kind::fair;
    CHECK(client.acquire(spec).held());
    spec.kind = static_cast<redlock::kind>(99);
    THROWS(redlock::invalid, (void)client.acquire(spec));
}

TEST(a_loss_is_told_and_seen)
{
    redlock::client client = open_client();
    std::atomic<int> told{0}, renewed{0};
    redlock::spec spec{"removed"};

    spec.ttl = 600ms;
    spec.on_lost = [&](const redlock::report_view &report) {
        told += report.result() == redlock::result::lost ? 1 : 100;
    };
    spec.on_renewed = [&](const redlock::report_view &) { renewed++; };
    redlock::lock lock = client.acquire(spec);

    AWAIT(renewed > 0);
    CHECK(lock.held() && !lock.lost());
    fleet->ask_all("SET", "removed", "another");
    AWAIT(told > 0);
    CHECK(lock.lost() && !lock.held() && told == 1);
    THROWS(redlock::lost, lock.release());
    fleet->ask_all("DEL", "removed");
}

TEST(only_a_release_that_waits_finds_out_that_nodes_lost_the_lock)
{
    redlock::client client = open_client();
    redlock::spec spec{"waits"};

    spec.ttl = 50s;
    spec.renew = false;
    redlock::lock waits = client.acquire(spec);
    spec.name = "quick";
    spec.quick_release = true;
    redlock::lock quick = client.acquire(spec);

    fleet->ask_all("DEL", "waits", "quick");
    THROWS(redlock::not_held, waits.release());
    quick.release();
}

TEST(log_and_trace_are_callables)
{
    redlock::options options = fleet->options();
    std::atomic<int> lines{0};

    options.trace = [&](std::string_view line) { lines += line.empty() ? 0 : 1; };
    options.log = [&](redlock::log_level, std::string_view) {};
    CHECK(redlock::client(options).acquire("traced").held());
    CHECK(lines > 0);
}

/* ---- callables ----------------------------------------------------------------------------------------- */

TEST(a_callable_that_cannot_be_copied_runs_once)
{
    redlock::client client = open_client();
    auto count = std::make_unique<int>(0);
    std::promise<redlock::lock> got;

    client.acquire_async(
        "callable", [count = std::move(count), &got](redlock::lock lock, const redlock::report_view &report) {
            ++*count;
            CHECK(report.ok());
            got.set_value(std::move(lock));
            CHECK(*count == 1);
        });
    redlock::lock lock = got.get_future().get();

    CHECK(lock.held());
    std::promise<bool> extended, seen, gone;

    lock.extend_async(30s, [&](const redlock::report_view &report) { extended.set_value(report.ok()); });
    CHECK(extended.get_future().get() && lock.validity() > 20s);
    client.inspect_async("callable", [&](const redlock::report_view &report) {
        seen.set_value(report.holder().has_value() && report.nodes().size() == 5);
    });
    CHECK(seen.get_future().get());
    client.release_owner_async("callable", lock.owner(),
                               [&](const redlock::report_view &report) { gone.set_value(report.ok()); });
    CHECK(gone.get_future().get());
}

TEST(a_callable_of_a_call_that_cannot_begin_never_runs_and_is_destroyed)
{
    redlock::client client = open_client();
    auto alive = std::make_shared<int>(0);
    redlock::spec spec{"never"};
    auto done = [alive](redlock::lock, const redlock::report_view &) { std::abort(); };
    redlock::result began = redlock::result::ok;

    spec.ttl = 1ms;
    THROWS(redlock::invalid, client.acquire_async(spec, done));
    CHECK(!client.acquire_async(spec, 1s, done, began) && began == redlock::result::invalid);
    CHECK(alive.use_count() == 2);
}

TEST(a_request_is_cancelled_once_and_outlives_its_client)
{
    redlock::request request;
    std::atomic<int> canceled{0}, others{0};
    auto done = [&](redlock::lock, const redlock::report_view &report) {
        (report.result() == redlock::result::canceled ? canceled : others)++;
    };
    {
        redlock::client client = open_client();
        redlock::lock lock = client.acquire("cancel");

        request = client.acquire_async("cancel", done);
        CHECK(request && request.cancel() == redlock::result::ok);
        AWAIT(canceled == 1);
        CHECK(request.cancel() == redlock::result::not_held);
        request = client.acquire_async("cancel", done); /* still waits when the client ends */
    }
    CHECK(canceled + others == 2); /* the lock ended before the client did: it may have had it */
    CHECK(request.cancel() == redlock::result::misuse);
    CHECK(redlock::request().cancel() == redlock::result::misuse);
}

TEST(no_callable_runs_when_the_client_is_gone_and_nothing_is_left)
{
    redlock::options options = fleet->options();
    redlock::spec spec{"gone"};

    options.max_ttl = 10min;
    spec.ttl = 5min; /* longer than the patience of this test */
    for (int round = 0; round < 20; round++) {
        std::vector<int> called(30, 0);
        {
            redlock::client client(options);

            for (int &count : called)
                client.acquire_async(spec,
                                     [&count](redlock::lock, const redlock::report_view &) { count++; });
            /* So that one is won, and may not have been told yet. */
            while (client.stats().acquired < static_cast<std::uint64_t>(1 + round % 4))
                std::this_thread::yield();
        }
        for (int count : called)
            CHECK(count == 1);
        AWAIT(fleet->copies("gone") == 0);
    }
}

/* The first lock of a new client is won before all nodes are connected, and is brought to those that were
 * late. */
TEST(late_nodes_do_not_get_a_lock_that_its_client_releases_at_its_end)
{
    redlock::options options = fleet->options();
    redlock::spec spec{"late"};

    options.max_ttl = 10min;
    spec.ttl = 5min; /* longer than the patience of this test */
    for (int round = 0; round < 60; round++) {
        redlock::lock lock;
        {
            redlock::client client(options);
            std::promise<redlock::lock> got;

            client.acquire_async(spec, [&](redlock::lock won, const redlock::report_view &) {
                got.set_value(std::move(won));
            });
            lock = got.get_future().get();
        }
        CHECK(fleet->copies("late") == 0);
    }
}

TEST(a_client_may_be_destroyed_by_its_own_callable)
{
    auto client = std::make_unique<redlock::client>(open_client());
    std::promise<void> called;

    client->acquire_async("own", [&](redlock::lock lock, const redlock::report_view &) {
        CHECK(lock.held());
        client = nullptr;
        called.set_value();
    });
    called.get_future().wait();
    AWAIT(fleet->copies("own") == 0);
}

TEST(an_extension_under_way_may_lose_its_lock_object)
{
    redlock::client client = open_client();
    std::promise<void> called;

    client.acquire("short-lived").extend_async(20s, [&](const redlock::report_view &) {
        called.set_value();
    });
    called.get_future().wait();
    AWAIT(fleet->copies("short-lived") == 0);
}

/* ---- event loops --------------------------------------------------------------------------------------- */

template <class Condition> static void turn_until(redlock::client &client, Condition condition)
{
    pollfd polled{client.fd(), POLLIN, 0};

    while (!condition()) {
        CHECK(poll(&polled, 1, 60000) == 1);
        client.process();
    }
}

TEST(callables_run_in_the_event_loop)
{
    redlock::client client = open_client();
    std::vector<redlock::lock> locks;
    auto here = std::this_thread::get_id();

    CHECK(client.fd() >= 0);
    for (int i = 0; i < 64; i++)
        client.acquire_async("turn-" + std::to_string(i),
                             [&](redlock::lock lock, const redlock::report_view &report) {
                                 CHECK(report.ok() && std::this_thread::get_id() == here);
                                 locks.push_back(std::move(lock));
                             });
    turn_until(client, [&] { return locks.size() == 64; });
    locks.clear();
    turn_until(client, [&] { return client.stats().released == 64; });
}

/* ---- operating ----------------------------------------------------------------------------------------- */

TEST(locks_are_listed_and_what_a_callable_throws_comes_through)
{
    redlock::client client = open_client();
    redlock::lock one = client.acquire("listed-1"), two = client.acquire("listed-2");
    redlock::list_spec which;
    redlock::report report;
    std::vector<std::string> seen;
    std::promise<bool> over;
    std::atomic<int> count{0};

    which.glob = "listed-*";
    client.list(which, [&](const redlock::listed &lock) { seen.emplace_back(lock.name, lock.name_length); });
    CHECK(seen.size() == 2 && seen[0] != seen[1]);
    CHECK(client.list(
              which, [](const redlock::listed &) { return false; }, report) == redlock::result::canceled);
    THROWS(std::out_of_range,
           client.list(which, [](const redlock::listed &) { throw std::out_of_range("no"); }));
    client.list_async(
        which, [&](const redlock::listed &) { count++; },
        [&](const redlock::report_view &why) { over.set_value(why.ok()); });
    CHECK(over.get_future().get() && count == 2);
}

TEST(a_name_is_waited_for_and_watched_without_taking_it)
{
    redlock::client client = open_client(), other = open_client();
    redlock::lock lock = other.acquire("awaited");
    redlock::report report;
    redlock::list_spec which;
    std::promise<bool> is_free, over;
    std::atomic<int> released{0};

    which.name = "awaited";
    CHECK(client.wait("awaited", 1ms, report) == redlock::result::timeout);
    redlock::request watching = client.watch_async(
        which,
        [&](const redlock::event &event) { released += event.change == REDLOCK_CHANGE_RELEASED ? 1 : 0; },
        [&](const redlock::report_view &why) { over.set_value(why.result() == redlock::result::canceled); });
    client.wait_async("awaited", redlock::client::forever(),
                      [&](const redlock::report_view &why) { is_free.set_value(why.ok()); });
    AWAIT(client.inspect("awaited").holder().has_value());
    lock.release();
    CHECK(is_free.get_future().get());
    client.wait("awaited");
    AWAIT(released == 1);
    CHECK(watching.cancel() == redlock::result::ok && over.get_future().get());
}

TEST(a_broken_lock_is_told_so)
{
    redlock::client client = open_client(), other = open_client();
    std::atomic<int> broken{0};
    redlock::spec spec{"broken"};

    spec.ttl = 3s;
    spec.on_lost = [&](const redlock::report_view &why) { broken += why.broken() ? 1 : 100; };
    redlock::lock lock = other.acquire(spec);

    THROWS(redlock::not_held, client.break_lock("broken", "00000000"));
    client.break_lock("broken", client.inspect("broken").holder().value().id);
    AWAIT(broken == 1);
    CHECK(lock.lost());
}

/* ---- as a mutex ---------------------------------------------------------------------------------------- */

TEST(standard_guards_lock_names)
{
    redlock::client client = open_client();
    redlock::mutex one(client, "mutex-1"), two(client, with_why("mutex-2", "guard"));
    {
        std::scoped_lock both(one, two);
        redlock::mutex again(client, "mutex-1");

        CHECK(one.fence() > 0 && !one.lost() && !again.try_lock());
        CHECK(std::async(std::launch::async, [&] { return one.fence(); }).get() == 0);
    }
    std::unique_lock<redlock::mutex> guard(one, std::try_to_lock);

    CHECK(guard.owns_lock());
    guard.unlock();
    CHECK(one.lost());
    CHECK(guard.try_lock_for(60s));
    std::lock_guard<redlock::mutex> other(two);
}

TEST(threads_that_lock_a_name_lose_no_count)
{
    redlock::client client = open_client();
    redlock::mutex one(client, "counter-1"), two(client, "counter-2");
    std::vector<std::thread> threads;
    int count = 0;

    for (int i = 0; i < 8; i++)
        threads.emplace_back([&, i] {
            for (int round = 0; round < 15; round++) {
                if (i % 2 == 0) {
                    std::scoped_lock both(one, two);
                    count++;
                } else {
                    std::scoped_lock both(two, one);
                    count++;
                }
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(count == 120);
}

TEST(a_thread_that_lost_its_mutex_does_not_unlock_the_next_one)
{
    redlock::client client = open_client();
    redlock::spec spec{"overtaken"};

    spec.ttl = 300ms;
    redlock::mutex mutex(client, spec);
    std::promise<void> locked, unlocked;

    mutex.lock();
    fleet->ask_all("SET", "overtaken", "another");
    AWAIT(mutex.lost());
    fleet->ask_all("DEL", "overtaken");
    std::thread next([&] {
        mutex.lock();
        locked.set_value();
        unlocked.get_future().wait();
        CHECK(!mutex.lost());
        mutex.unlock();
    });

    locked.get_future().wait();
    mutex.unlock();
    CHECK(fleet->copies("overtaken") >= 3);
    unlocked.set_value();
    next.join();
}

/* ---- stop tokens --------------------------------------------------------------------------------------- */

#if defined(__cpp_lib_jthread)

TEST(a_wait_ends_when_its_token_says_stop)
{
    redlock::client client = open_client();
    redlock::lock lock = client.acquire("stopped");
    std::stop_source source;
    auto waiter = std::async(std::launch::async, [&] {
        redlock::report report;

        CHECK(!client.acquire("stopped", source.get_token(), report));
        return report.result();
    });

    AWAIT(client.stats().waiting == 1);
    source.request_stop();
    CHECK(waiter.get() == redlock::result::canceled);
    THROWS(redlock::canceled, (void)client.acquire("stopped", source.get_token()));
    CHECK(!client.try_acquire_for("stopped", 5ms, std::stop_token()));
    lock.release();
    CHECK(client.acquire("stopped", std::stop_token()).held());
    CHECK(client.fd() >= 0);
    THROWS(redlock::misuse, (void)client.acquire("stopped", std::stop_token()));
}

#endif

/* ---- coroutines ---------------------------------------------------------------------------------------- */

#if defined(__cpp_lib_coroutine)

/* Runs until its first wait; then whoever resumes it runs it. Its frame goes with the object unless it has
 * ended. */
class coroutine
{
  public:
    struct promise_type {
        coroutine get_return_object()
        {
            return coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_never initial_suspend() noexcept
        {
            return {};
        }
        std::suspend_always final_suspend() noexcept
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

    explicit coroutine(std::coroutine_handle<promise_type> handle) : handle_(handle)
    {
    }
    coroutine(coroutine &&other) noexcept : handle_(std::exchange(other.handle_, {}))
    {
    }
    coroutine &operator=(coroutine &&) = delete;
    ~coroutine()
    {
        if (handle_)
            handle_.destroy();
    }

  private:
    std::coroutine_handle<promise_type> handle_;
};

static coroutine use(redlock::client &client, std::atomic<int> &stage, std::thread::id *where)
{
    redlock::lock lock = co_await client.co_acquire("coroutine");

    *where = std::this_thread::get_id();
    CHECK(lock.held());
    co_await lock.co_extend(30s);
    CHECK(lock.validity() > 20s);
    redlock::report seen = co_await client.co_inspect("coroutine");

    CHECK(seen.holder().has_value() && seen.nodes().size() == 5);
    co_await lock.co_release();
    CHECK(!lock);
    bool thrown = false;

    try {
        co_await lock.co_release();
    } catch (const redlock::not_held &) {
        thrown = true;
    }
    stage = thrown ? 1 : 2;
}

TEST(coroutines_are_resumed_in_the_loop_or_by_the_library)
{
    redlock::client looped = open_client(), threaded = open_client();
    std::atomic<int> stage{0};
    std::thread::id where;

    CHECK(looped.fd() >= 0);
    {
        coroutine running = use(looped, stage, &where);

        turn_until(looped, [&] { return stage != 0; });
    }
    CHECK(stage == 1 && where == std::this_thread::get_id());
    stage = 0;
    {
        coroutine running = use(threaded, stage, &where);

        AWAIT(stage != 0);
        threaded.close(); /* the library's thread has left the coroutine then */
    }
    CHECK(stage == 1 && where != std::this_thread::get_id());
}

static coroutine give_up(redlock::client &client, std::atomic<int> &stage)
{
    try {
        redlock::lock lock = co_await client.co_acquire("held", 5ms);
        stage = 2;
    } catch (const redlock::timeout &problem) {
        stage = problem.report().holder().has_value() ? 1 : 3;
    }
}

static coroutine wait_for_it(redlock::client &client)
{
    redlock::lock lock = co_await client.co_acquire("held");

    std::abort();
}

TEST(a_coroutine_is_thrown_at_and_one_that_is_destroyed_cancels_its_request)
{
    redlock::client client = open_client();
    redlock::lock lock = client.acquire("held");
    std::atomic<int> stage{0};

    CHECK(client.fd() >= 0);
    {
        coroutine running = give_up(client, stage);

        turn_until(client, [&] { return stage != 0; });
    }
    CHECK(stage == 1);
    {
        coroutine waiting = wait_for_it(client);
    }
    turn_until(client, [&] { return client.stats().canceled == 1; });
    lock = redlock::lock();
    turn_until(client, [&] { return client.stats().released == 1; });
    CHECK(client.acquire("held").held());
}

/* Its frame goes when it ends. */
struct detached {
    struct promise_type {
        detached get_return_object()
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

/* The client goes with the coroutine, inside the callback that resumed it. */
static detached own_everything(std::atomic<int> &stage)
{
    {
        redlock::client client = open_client();
        redlock::lock lock = co_await client.co_acquire("everything");

        CHECK(lock.held());
    }
    stage = 1;
}

TEST(a_coroutine_may_own_its_client)
{
    std::atomic<int> stage{0};

    own_everything(stage);
    AWAIT(stage == 1);
    AWAIT(fleet->copies("everything") == 0);
}

#endif

int main()
{
    tap::nodes nodes(5);

    fleet = &nodes;
    open_client().init_nodes();
    return tap::run_all();
}
