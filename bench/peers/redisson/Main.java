// Redisson's RedissonRedLock: one client for each node, and each caller a thread, which is what Redisson takes for the owner.
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Main {
    static final double WARM_UP_S = 2; // the virtual machine compiles meanwhile
    static List<RedissonClient> nodes = new ArrayList<>();

    static class Client extends Thread {
        final String name;
        final boolean contend;
        final long until;
        long[] waits = new long[1024];
        int count, cutOff, errors;

        Client(String name, boolean contend, long until) {
            this.name = name;
            this.contend = contend;
            this.until = until;
        }

        void add(long ns) {
            if (count == waits.length) waits = Arrays.copyOf(waits, 2 * count);
            waits[count++] = ns;
        }

        RLock acquire() {
            RLock lock = new RedissonRedLock(nodes.stream().map(node -> node.getLock(name)).toArray(RLock[]::new));
            try {
                return lock.tryLock(10, 15, TimeUnit.SECONDS) ? lock : null;
            } catch (Exception e) {
                return null;
            }
        }

        void release(RLock lock) {
            try {
                lock.unlock();
            } catch (Exception e) {
                errors++;
            }
        }

        @Override public void run() {
            long asked = System.nanoTime();
            while (System.nanoTime() < until) {
                RLock lock = acquire();
                if (lock == null) {
                    errors++;
                    if (contend) continue; // it still wants the lock
                } else {
                    add(System.nanoTime() - asked);
                    release(lock);
                }
                asked = System.nanoTime();
            }
            if (contend) {
                add(System.nanoTime() - asked);
                cutOff++;
            }
        }
    }

    static List<Client> pass(int count, boolean contend, double seconds) throws InterruptedException {
        List<Client> clients = new ArrayList<>();
        long until = System.nanoTime() + (long) (seconds * 1e9);
        for (int i = 0; i < count; i++) clients.add(new Client(String.format("bench:%08d", contend ? 0 : i), contend, until));
        for (Client client : clients) client.start();
        for (Client client : clients) client.join();
        return clients;
    }

    static String figures(List<Client> clients, double elapsed) {
        int pairs = 0, least = Integer.MAX_VALUE, most = 0, errors = 0, at = 0;
        for (Client client : clients) {
            int count = client.count - client.cutOff;
            pairs += count;
            errors += client.errors;
            at += client.count;
            least = Math.min(least, count);
            most = Math.max(most, count);
        }
        long[] all = new long[at];
        at = 0;
        for (Client client : clients) {
            System.arraycopy(client.waits, 0, all, at, client.count);
            at += client.count;
        }
        Arrays.sort(all);
        String line = String.format("{\"pairs\": %d, \"pairs_per_s\": %f, \"seconds\": %f, \"least\": %d, \"most\": %d, \"errors\": %d",
            pairs, pairs / elapsed, elapsed, least, most, errors);
        String[] keys = {"p50", "p99", "max"};
        double[] shares = {0.5, 0.99, 1};
        for (int i = 0; i < keys.length && at > 0; i++)
            line += String.format(", \"acquire_%s_us\": %f", keys[i], all[(int) (shares[i] * (at - 1))] / 1e3);
        return line + "}";
    }

    public static void main(String[] words) throws Exception {
        boolean contend = words[1].equals("contend");
        int count = Integer.parseInt(words[2]);
        for (String node : words[0].split(",")) {
            Config config = new Config();
            config.useSingleServer().setAddress("redis://" + node);
            nodes.add(Redisson.create(config));
        }
        pass(count, contend, WARM_UP_S);
        System.out.println("ready");
        System.in.read();
        long started = System.nanoTime();
        List<Client> clients = pass(count, contend, Double.parseDouble(words[3]));
        System.out.println(figures(clients, (System.nanoTime() - started) / 1e9));
        System.exit(0);
    }
}
