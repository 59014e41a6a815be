/*
 * The kinds of lock in redlock.hpp, on five real nodes: semaphores, shared and reentrant locks, several
 * names; by handle and by owner value; and that a call that fails or throws half-way leaves nothing behind.
 */
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <new>
#include <set>
#include <shared_mutex>

#include "tap.hpp"

using namespace std::chrono_literals;

static tap::nodes *fleet;

/* ---- memory that runs out, for the thread that says so ------------------------------------------------- */

static thread_local int until_failure = 0; /* 0: it does not run out */

static void *allocate(std::size_t size)
{
    if (until_failure > 0 && --until_failure == 0)
        return nullptr;
    return std::malloc(size > 0 ? size : 1);
}

/* Not inlined, or the compiler sees memory of malloc() deleted. */
__attribute__((noinline)) void *operator new(std::size_t size)
{
    void *memory = allocate(size);

    if (memory == nullptr)
        throw std::bad_alloc();
    return memory;
}
__attribute__((noinline)) void operator delete(void *memory) noexcept
{
    std::free(memory);
}
__attribute__((noinline)) void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

static redlock::client open_client()
{
    return redlock::client(fleet->options());
}

static redlock::spec of_kind(const char *name, redlock::kind kind, std::uint32_t permits = 0)
{
    redlock::spec spec{name};

    spec.kind = kind;
    spec.permits = permits;
    spec.ttl = 50s;
    return spec;
}

static redlock::spec of_names(const char *name, std::vector<std::string> also)
{
    redlock::spec spec = of_kind(name, redlock::kind::exclusive);

    spec.also = std::move(also);
    return spec;
}

static redlock::spec of_owner(const char *name, std::uint64_t identity = 0)
{
    redlock::spec spec = of_kind(name, redlock::kind::exclusive);

    spec.reentrant = true;
    spec.identity = identity;
    return spec;
}

/* Whether it can be had sooner than a leftover would expire. */
static bool is_free(redlock::client &client, const redlock::spec &spec)
{
    redlock::lock lock = client.try_acquire_for(spec, 40s);

    return static_cast<bool>(lock);
}

/* ---- semaphores ---------------------------------------------------------------------------------------- */

TEST(a_semaphore_has_as_many_slots_as_it_was_said_to)
{
    redlock::client client = open_client();
    redlock::spec spec = of_kind("slots", redlock::kind::semaphore, 2);
    redlock::lock one = client.acquire(spec), other = client.acquire(spec);
    redlock::report report;

    CHECK(
        (std::set<std::uint32_t>{one.slot().value(), other.slot().value()} == std::set<std::uint32_t>{0, 1}));
    CHECK(!client.try_acquire(spec) && !client.try_acquire(spec, report));
    CHECK(report.result() == redlock::result::busy);
    std::uint32_t freed = one.slot().value();

    one.release();
    redlock::lock next = client.acquire(spec);

    CHECK(next.slot() == freed && next.fence() > 0 && !one.slot());
    spec.permits = 0;
    THROWS(redlock::invalid, (void)client.try_acquire(spec));
}

TEST(slots_are_inspected)
{
    redlock::client client = open_client();
    redlock::spec spec = of_kind("inspected", redlock::kind::semaphore, 3);
    redlock::report report;

    CHECK(client.inspect_slots("inspected").permits == 0);
    spec.why = "first";
    redlock::lock one = client.acquire(spec);

    spec.why = "second";
    redlock::lock other = client.acquire(spec);
    redlock::slots seen = client.inspect_slots("inspected");

    CHECK(seen.permits == 3 && seen.held.size() == 2);
    for (const redlock::slot &slot : seen.held) {
        bool first = slot.number == one.slot();

        CHECK(slot.holder.why == (first ? "first" : "second") && slot.votes >= 3 && slot.ttl_left > 0ms);
        CHECK(slot.holder.pid == static_cast<std::uint32_t>(getpid()) && !slot.holder.broken);
    }
    CHECK(client.inspect_slots("nobody's", report).held.empty() && report.ok());
    client.close();
    THROWS(redlock::misuse, (void)client.inspect_slots("inspected"));
}

TEST(a_slot_is_adopted_and_released_by_its_owner_value)
{
    redlock::client client = open_client();
    redlock::spec spec = of_kind("left", redlock::kind::semaphore, 1);
    redlock::lock lock = client.acquire(spec);
    std::string owner = lock.leave();

    THROWS(redlock::not_held, client.release_owner("left", owner));
    redlock::lock adopted = client.adopt(spec, owner);

    adopted.extend(55s);
    CHECK(adopted.validity() > 40s && !client.try_acquire(spec));
    owner = adopted.leave();
    client.release_owner(spec, owner);
    CHECK(client.try_acquire_for(spec, 60s).slot() == 0U);
}

TEST(slots_are_listed_inspected_asynchronously_and_broken)
{
    redlock::client client = open_client();
    redlock::spec spec = of_kind("operated", redlock::kind::semaphore, 3);
    std::atomic<bool> broken{false};

    spec.renew_every = 100ms;
    redlock::lock one = client.acquire(spec);

    spec.on_lost = [&](const redlock::report_view &report) { broken = report.broken(); };
    redlock::lock other = client.acquire(spec);
    std::set<std::uint32_t> both{one.slot().value(), other.slot().value()}, listed, seen;
    redlock::list_spec which;
    std::promise<redlock::result> ended;

    which.glob = "operated";
    AWAIT([&] {
        listed.clear();
        client.list(which, [&](const redlock::listed &lock) {
            CHECK(lock.kind == REDLOCK_SEMAPHORE && lock.holder.permits == 3);
            listed.insert(lock.holder.slot);
        });
        return listed == both;
    }());
    client.inspect_slots_async(
        "operated",
        [&](const redlock::slot &slot) {
            if (slot.holder.slot == slot.number && slot.holder.permits == 3)
                seen.insert(slot.number);
        },
        [&](const redlock::report_view &why) { ended.set_value(why.result()); });
    CHECK(ended.get_future().get() == redlock::result::ok && seen == both);
    std::string id;

    for (const redlock::slot &slot : client.inspect_slots("operated").held)
        if (slot.number == other.slot())
            id = slot.holder.id;
    THROWS(redlock::not_held, client.break_slot("operated", one.slot().value(), id));
    client.break_slot("operated", other.slot().value(), id);
    AWAIT(broken.load());
    CHECK(other.lost() && one.held());
}

/* ---- shared locks -------------------------------------------------------------------------------------- */

TEST(readers_share_a_name_and_a_writer_has_it_alone)
{
    redlock::client client = open_client();
    redlock::spec reading = of_kind("read", redlock::kind::shared);

    reading.why = "reading";
    redlock::lock one = client.acquire(reading), other = client.acquire(reading);
    redlock::report report;

    AWAIT(client.inspect("read").sharers().size() == 2);
    report = client.inspect("read");
    CHECK(report.sharer_count() == 2 && report.sharers()[0].why == "reading");
    CHECK(!client.try_acquire("read", report) && report.result() == redlock::result::busy);
    std::string owner = one.leave();

    THROWS(redlock::not_held, client.release_owner("read", owner));
    one = client.adopt(reading, owner);
    client.release_owner(reading, one.leave());
    other.release();
    redlock::lock writer = client.acquire("read");

    CHECK(!client.try_acquire(reading) && client.inspect("read").sharers().empty());
}

TEST(a_shared_mutex_is_shared_or_locked)
{
    redlock::client client = open_client();
    redlock::shared_mutex mutex(client, "shared mutex");

    CHECK(mutex.lost_shared() && mutex.fence_shared() == 0);
    {
        std::shared_lock<redlock::shared_mutex> reader(mutex);

        CHECK(!mutex.lost_shared() && mutex.fence_shared() > 0);
        std::async(std::launch::async, [&] {
            std::shared_lock<redlock::shared_mutex> another(mutex, 60s);

            CHECK(another.owns_lock() && !mutex.lost_shared() && !mutex.try_lock());
        }).get();
        CHECK(!mutex.try_lock_for(1ms));
    }
    {
        std::unique_lock<redlock::shared_mutex> writer(mutex);

        CHECK(!mutex.lost() && !mutex.try_lock_shared() && !mutex.try_lock_shared_for(1ms));
        CHECK(!mutex.try_lock_shared_until(std::chrono::steady_clock::now() + 1ms));
    }
    mutex.unlock_shared(); /* not shared: nothing happens */
    CHECK(mutex.try_lock_shared_for(60s));
    mutex.unlock_shared();
}

/* ---- several names ------------------------------------------------------------------------------------- */

TEST(several_names_are_one_lock)
{
    redlock::client client = open_client();
    std::string zero("n\0l", 3);
    redlock::lock lock = client.acquire(of_names("one", {"two", zero}));
    redlock::report report;

    CHECK((lock.names() == std::vector<std::string>{"one", "two", zero}) && lock.name_at(1) == "two");
    CHECK(lock.name_count() == 3 && lock.name_at(3).empty() && lock.name() == "one" && lock.fence() > 0);
    CHECK(!client.try_acquire("two") && !client.try_acquire(of_names("four", {"five", "two"}), report));
    CHECK(report.result() == redlock::result::busy && report.name_number() == 2U);
    CHECK(fleet->copies("four") + fleet->copies("five") == 0);
    lock.release();
    AWAIT(fleet->copies("one") + fleet->copies("two") == 0);
    THROWS(redlock::invalid, (void)client.try_acquire(of_names("twice", {"twice"})));
    THROWS(redlock::invalid,
           (void)client.try_acquire(of_names("many", std::vector<std::string>(REDLOCK_NAMES_MAX, "x"))));
}

TEST(a_loss_says_which_name_was_lost)
{
    redlock::client client = open_client();
    redlock::spec spec = of_names("kept", {"removed"});
    std::atomic<int> number{-1};

    spec.renew_every = 100ms;
    spec.on_lost = [&](const redlock::report_view &report) {
        number = report.name_number() ? static_cast<int>(*report.name_number()) : -2;
    };
    redlock::lock lock = client.acquire(spec);

    fleet->ask_all("SET", "removed", "another's");
    AWAIT(number != -1);
    CHECK(number == 1 && lock.lost());
    THROWS(redlock::lost, lock.release());
    AWAIT(fleet->copies("kept") == 0);
    fleet->ask_all("DEL", "removed");
}

TEST(several_names_are_adopted_and_released_together)
{
    redlock::client client = open_client();
    redlock::spec spec = of_names("both a", {"both b"});
    std::string owner = client.acquire(spec).leave();
    redlock::lock lock = client.adopt(spec, owner);

    CHECK(lock.name_count() == 2 && !client.try_acquire("both b"));
    std::promise<redlock::result> released;

    owner = lock.leave();
    client.release_owner_async(spec, owner,
                               [&](const redlock::report_view &why) { released.set_value(why.result()); });
    CHECK(released.get_future().get() == redlock::result::ok);
    AWAIT(fleet->copies("both a") + fleet->copies("both b") == 0);
}

/* ---- reentrant locks ----------------------------------------------------------------------------------- */

TEST(a_thread_enters_again_and_the_last_to_leave_releases)
{
    redlock::client client = open_client();
    redlock::lock outer = client.acquire(of_owner("again"));
    redlock::lock inner = client.acquire(of_owner("again"));

    CHECK(outer.entries() == 2 && inner.fence() == outer.fence() && inner.owner() == outer.owner());
    CHECK(!std::async(std::launch::async, [&] { return bool(client.try_acquire(of_owner("again"))); }).get());
    outer.release(); /* in any order */
    CHECK(!outer && inner.held() && inner.entries() == 1 && fleet->copies("again") >= 3);
    inner.release();
    AWAIT(fleet->copies("again") == 0);
}

TEST(an_identity_is_an_owner_wherever_it_asks)
{
    redlock::client client = open_client();
    redlock::spec spec = of_owner("identity", 7);
    redlock::lock outer = client.acquire(spec);
    std::promise<redlock::lock> entered;

    client.acquire_async(
        spec, [&](redlock::lock lock, const redlock::report_view &) { entered.set_value(std::move(lock)); });
    redlock::lock inner = entered.get_future().get();

    CHECK(inner.entries() == 2);
    inner = std::async(std::launch::async, [&] { return client.acquire(spec); }).get();
    CHECK(inner.entries() == 2 && !client.try_acquire(of_owner("identity", 8)));
    THROWS(redlock::invalid,
           client.acquire_async(of_owner("identity"), [](redlock::lock, const redlock::report_view &) {}));
}

TEST(every_entry_is_told_of_a_loss_whoever_left_before)
{
    redlock::client client = open_client();
    redlock::spec spec = of_owner("lost again", 9);
    std::atomic<int> first{0}, second{0}, third{0}, renewed{0};

    spec.renew_every = 100ms;
    spec.on_lost = [&](const redlock::report_view &) { first++; };
    redlock::lock one = client.acquire(spec);

    spec.on_lost = [&](const redlock::report_view &) { second++; };
    spec.on_renewed = [&](const redlock::report_view &) { renewed++; };
    redlock::lock two = client.acquire(spec);

    spec.on_renewed = nullptr;
    redlock::lock three;

    spec.on_lost = [&](const redlock::report_view &) {
        two = redlock::lock(); /* another entry, and itself: both go when it is safe */
        three = redlock::lock();
        third++;
    };
    three = client.acquire(spec);
    one.release(); /* the one that the library knows the callbacks of */
    AWAIT(renewed > 0);
    fleet->ask_all("SET", "lost again", "another's");
    AWAIT(third == 1);
    CHECK(first == 0 && second <= 1 && !three && !two);
    spec.on_lost = nullptr;
    fleet->ask_all("DEL", "lost again");
    CHECK(client.try_acquire_for(spec, 60s).entries() == 1);
}

TEST(a_lost_lock_is_entered_when_all_have_left_it)
{
    redlock::client client = open_client();
    redlock::spec spec = of_owner("left again");

    spec.renew_every = 100ms;
    redlock::lock one = client.acquire(spec), two = client.acquire(spec);

    fleet->ask_all("SET", "left again", "another's");
    AWAIT(one.lost() && two.lost());
    THROWS(redlock::lost, (void)client.acquire(spec));
    THROWS(redlock::lost, one.release());
    THROWS(redlock::lost, two.release());
    fleet->ask_all("DEL", "left again");
    CHECK(client.acquire(spec).entries() == 1);
}

TEST(threads_of_one_identity_come_and_go_while_it_is_lost)
{
    redlock::client client = open_client();
    std::vector<std::future<int>> threads;
    std::atomic<bool> over{false};
    std::atomic<int> told{0};

    for (int i = 0; i < 4; i++)
        threads.push_back(std::async(std::launch::async, [&] {
            redlock::spec spec = of_owner("busy again", 11);
            redlock::report report;
            int entered = 0;

            spec.renew_every = 50ms;
            spec.on_lost = [&](const redlock::report_view &) { told++; };
            while (!over) {
                redlock::lock lock = client.try_acquire_for(spec, 10ms, report);

                entered += lock ? 1 : 0;
                if (told < 3)
                    AWAIT(over || told >= 3 || !lock || lock.lost());
            }
            return entered;
        }));
    while (told < 3) {
        AWAIT(told >= 3 || fleet->copies("busy again") >= 3);
        fleet->ask_all("DEL", "busy again");
    }
    over = true;
    for (auto &thread : threads)
        (void)thread.get();
    AWAIT(fleet->copies("busy again") == 0);
}

TEST(a_mutex_of_a_reentrant_spec_is_recursive)
{
    redlock::client client = open_client();
    redlock::mutex mutex(client, of_owner("recursive"));
    {
        std::unique_lock<redlock::mutex> outer(mutex);
        {
            std::unique_lock<redlock::mutex> inner(mutex, std::try_to_lock);

            CHECK(inner.owns_lock() && mutex.fence() > 0);
        }
        CHECK(!mutex.lost() && fleet->copies("recursive") >= 3);
        CHECK(!std::async(std::launch::async, [&] { return mutex.try_lock(); }).get());
    }
    CHECK(mutex.lost());
    AWAIT(fleet->copies("recursive") == 0);
}

TEST(a_client_that_ends_releases_every_kind)
{
    redlock::client other = open_client();
    redlock::lock locks[5];
    {
        redlock::client client = open_client();

        locks[0] = client.acquire(of_kind("end slots", redlock::kind::semaphore, 1));
        locks[1] = client.acquire(of_names("end a", {"end b"}));
        locks[2] = client.acquire(of_kind("end read", redlock::kind::shared));
        locks[3] = client.acquire(of_owner("end again"));
        locks[4] = client.acquire(of_owner("end again"));
    }
    CHECK(is_free(other, of_kind("end slots", redlock::kind::semaphore, 1)));
    CHECK(is_free(other, of_names("end b", {"end a"})));
    CHECK(is_free(other, redlock::spec{"end read"}));
    CHECK(is_free(other, redlock::spec{"end again"}));
}

TEST(what_a_callable_lets_go_while_its_client_closes_is_released_whatever_its_kind)
{
    redlock::client other = open_client();
    redlock::spec slots = of_kind("late slots", redlock::kind::semaphore, 1);
    redlock::spec names = of_names("late a", {"late b"});

    for (int i = 0; i < 5; i++) {
        redlock::client client = open_client();

        client.acquire_async(slots, [](redlock::lock, const redlock::report_view &) {});
        client.acquire_async(names, [](redlock::lock, const redlock::report_view &) {});
        if (i % 2 == 0)
            CHECK(client.inspect("late a").ok());
    }
    CHECK(is_free(other, slots));
    CHECK(is_free(other, names));
}

/* ---- what fails half-way ------------------------------------------------------------------------------- */

/* Has memory run out at the first, second, third allocation of this thread until the call succeeds; after
 * each failure the lock is free for everybody. */
template <class Call> static int fail_until_done(const redlock::spec &spec, Call call)
{
    redlock::client other = open_client();
    int failures = 0;

    for (bool done = false; !done; failures++) {
        until_failure = failures + 1;
        try {
            call();
            done = until_failure > 0; /* it did not come to that */
        } catch (const std::bad_alloc &) {
        }
        until_failure = 0;
        redlock::spec free = spec;

        free.reentrant = false;
        free.identity = 0;
        CHECK(is_free(other, free));
    }
    return failures - 1;
}

TEST(an_acquisition_that_runs_out_of_memory_leaves_nothing_behind)
{
    redlock::spec specs[] = {of_kind("memory", redlock::kind::exclusive),
                             of_kind("memory slots", redlock::kind::semaphore, 1),
                             of_kind("memory read", redlock::kind::shared),
                             of_names("memory a", {"a name that is too long for a short string", "memory c"}),
                             of_owner("memory again", 5)};
    redlock::client client = open_client();

    for (redlock::spec &spec : specs) {
        spec.why = "a reason that is too long for a short string";
        spec.on_lost = [copied = std::string(100, 'x')](const redlock::report_view &) {};
        CHECK(fail_until_done(spec, [&] { redlock::lock lock = client.acquire(spec); }) > 0);
        CHECK(fail_until_done(spec, [&] {
                  std::promise<void> ended;

                  client.acquire_async(spec, [&](redlock::lock lock, const redlock::report_view &) {
                      lock = redlock::lock();
                      ended.set_value();
                  });
                  ended.get_future().wait();
              }) > 0);
        CHECK(fail_until_done(spec, [&] { /* the second of two, when the first is there */
                                          redlock::mutex mutex(client, spec);
                                          std::unique_lock<redlock::mutex> guard(mutex);
              }) > 0);
    }
}

TEST(a_block_that_throws_releases_every_kind)
{
    redlock::client client = open_client();
    redlock::spec specs[] = {of_kind("thrown slots", redlock::kind::semaphore, 1),
                             of_kind("thrown read", redlock::kind::shared),
                             of_names("thrown a", {"thrown b"}), of_owner("thrown again")};

    for (const redlock::spec &spec : specs) {
        try {
            redlock::lock lock = client.acquire(spec), again;

            if (spec.reentrant)
                again = client.acquire(spec);
            throw std::runtime_error("work failed");
        } catch (const std::runtime_error &) {
        }
        redlock::client other = open_client();

        CHECK(is_free(other, spec));
    }
}

TEST(taking_two_names_one_after_the_other_leaves_neither_when_the_second_fails)
{
    redlock::client client = open_client();
    redlock::lock blocking = client.acquire("second");
    redlock::spec invalid{"third"};

    invalid.ttl = 1ms;
    auto take_both = [&] { redlock::lock first = client.acquire("first"), third = client.acquire(invalid); };

    THROWS(redlock::invalid, take_both());
    AWAIT(fleet->copies("first") == 0);
    redlock::mutex first(client, "first"), second(client, "second"), third(client, invalid);

    CHECK(std::try_lock(first, second) == 1);
    THROWS(redlock::invalid, (std::scoped_lock<redlock::mutex, redlock::mutex>(first, third)));
    AWAIT(fleet->copies("first") == 0);
    CHECK(blocking.held());
}

int main()
{
    tap::nodes five(5);

    fleet = &five;
    {
        redlock::client client = open_client();

        client.init_nodes();
    }
    return tap::run_all();
}
