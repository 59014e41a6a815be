// Redisson: its kinds of lock are rlock, fair, read and write (halves of a read/write lock) on one node, and redlock, which is an rlock on
// each of several. Its key is a hash, so it meets a plain-string lock of ours as WRONGTYPE: that is a refusal. It cannot wait for such a
// lock by its own means, but for one in its own format it does.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

class Driver extends Lines {
    static final long RENEWED = -1, WATCHDOG_MS = 3000;

    final String kind;
    final List<RedissonClient> nodes = new ArrayList<>();
    RLock lock;

    Driver(String kind) {
        this.kind = kind;
    }

    RLock make(RedissonClient node, String name) {
        switch (kind) {
            case "fair": return node.getFairLock(name);
            case "read": return node.getReadWriteLock(name).readLock();
            case "write": return node.getReadWriteLock(name).writeLock();
            default: return node.getLock(name);
        }
    }

    RLock make(String name) {
        RLock[] members = nodes.stream().map(node -> make(node, name)).toArray(RLock[]::new);
        return kind.equals("redlock") ? new RedissonRedLock(members) : members[0];
    }

    static boolean isWrongType(Throwable error) {
        for (; error != null; error = error.getCause())
            if (String.valueOf(error.getMessage()).contains("WRONGTYPE")) return true;
        return false;
    }

    @Override boolean acquire(long ttlMs, String name) throws Exception {
        RLock made = make(name);
        try {
            if (!made.tryLock(0, ttlMs == 0 ? RENEWED : ttlMs, TimeUnit.MILLISECONDS)) return false;
        } catch (RedisException error) {
            if (!isWrongType(error)) throw error;
            return false;
        }
        lock = made;
        return true;
    }

    @Override void await(long ttlMs, String name) throws Exception {
        RLock made = make(name);
        try {
            made.lock(ttlMs, TimeUnit.MILLISECONDS);
            lock = made;
        } catch (RedisException error) {
            if (!isWrongType(error)) throw error;
            super.await(ttlMs, name);
        }
    }

    @Override boolean extend(long ttlMs) {
        throw new UnsupportedOperationException("it renews by itself");
    }

    @Override boolean release() {
        try {
            lock.unlock();
            return true;
        } catch (IllegalMonitorStateException error) {
            return false;
        } catch (RedisException error) {
            if (!isWrongType(error)) throw error;
            return false;
        }
    }

    public static void main(String[] words) throws Exception {
        Driver driver = new Driver(words[0]);
        for (int i = 1; i < words.length; i++) {
            Config config = new Config().setLockWatchdogTimeout(WATCHDOG_MS);
            config.useSingleServer().setAddress("redis://" + words[i]).setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1);
            driver.nodes.add(Redisson.create(config));
        }
        driver.serve();
    }
}
