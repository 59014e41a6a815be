// Jedis has no lock of its own: this is what its users write, SET NX PX on every node and a script that compares and deletes.
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Predicate;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.params.SetParams;

class Driver extends Lines {
    static final String EXTEND =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";
    static final String RELEASE =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

    final List<JedisPooled> nodes = new ArrayList<>();
    String name, owner;

    boolean ofAll(Predicate<JedisPooled> ask) {
        return nodes.stream().filter(ask).count() > nodes.size() / 2;
    }

    boolean isOne(Object answer) {
        return Long.valueOf(1).equals(answer);
    }

    @Override boolean acquire(long ttlMs, String wanted) {
        String fresh = UUID.randomUUID().toString();
        if (ofAll(node -> "OK".equals(node.set(wanted, fresh, SetParams.setParams().nx().px(ttlMs))))) {
            name = wanted;
            owner = fresh;
            return true;
        }
        ofAll(node -> isOne(node.eval(RELEASE, List.of(wanted), List.of(fresh))));
        return false;
    }

    @Override boolean extend(long ttlMs) {
        return ofAll(node -> isOne(node.eval(EXTEND, List.of(name), List.of(owner, String.valueOf(ttlMs)))));
    }

    @Override boolean release() {
        return ofAll(node -> isOne(node.eval(RELEASE, List.of(name), List.of(owner))));
    }

    public static void main(String[] words) throws Exception {
        Driver driver = new Driver();
        for (int i = 1; i < words.length; i++) driver.nodes.add(new JedisPooled(HostAndPort.from(words[i])));
        driver.serve();
    }
}
