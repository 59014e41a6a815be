// The part of every Java driver that does not depend on the library: it reads commands, one a line, and answers each with
// one line. README.md of test/interop/drivers lists them.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ThreadLocalRandom;

abstract class Lines {
    static final long COUNTING_TTL_MS = 60000;

    /** Each of these tells whether it worked; an exception is something unforeseen. */
    abstract boolean acquire(long ttlMs, String name) throws Exception;

    abstract boolean extend(long ttlMs) throws Exception;

    abstract boolean release() throws Exception;

    /** Waits for the lock, by asking again unless the library can do better. */
    void await(long ttlMs, String name) throws Exception {
        while (!acquire(ttlMs, name)) Thread.sleep(ThreadLocalRandom.current().nextInt(2, 20));
    }

    /** Adds to the number in a file, under the lock. */
    void add(int times, String name, Path path) throws Exception {
        for (int i = 0; i < times; i++) {
            await(COUNTING_TTL_MS, name);
            Files.writeString(path, String.valueOf(Integer.parseInt(Files.readString(path).trim()) + 1));
            release();
        }
    }

    String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "acquire": return acquire(Long.parseLong(words[1]), words[2]) ? "held" : "refused";
            case "await": await(Long.parseLong(words[1]), words[2]); return "held";
            case "extend": return extend(Long.parseLong(words[1])) ? "extended" : "lost";
            case "release": return release() ? "released" : "lost";
            case "add": add(Integer.parseInt(words[1]), words[2], Path.of(words[3])); return "added";
            default: return "failed: unknown command " + words[0];
        }
    }

    void serve() throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said;
            try {
                said = answer(line.split(" "));
            } catch (Exception error) {
                said = "failed: " + error;
            }
            System.out.println(said.replace('\n', ' '));
        }
        System.exit(0);
    }
}
