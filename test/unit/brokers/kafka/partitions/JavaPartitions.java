// Writes table.txt: the partitions that the real Java client gives to the keys of keys.ts, which are made here by the same rule.
//
//   java -cp "$HOME/.cache/outrider/kafka-4.4.0-jars/*" JavaPartitions.java > table.txt
//
// The jars come with the first test on a real Kafka (servers/kafka.ts); any folder with kafka-clients and slf4j-api does.
import java.nio.charset.StandardCharsets;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

public class JavaPartitions {
    static final int KEYS = 10_000;
    static int state = 1;

    static int below(int bound) {
        state = (state * 1103515245 + 12345) & 0x7fffffff;
        return (state >>> 8) % bound;
    }

    static String ascii(int length) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) text.append((char) (0x20 + below(95)));
        return text.toString();
    }

    static String wide(int length) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < length; i++) {
            switch (below(4)) {
                case 0 -> text.appendCodePoint(0xe0 + below(0x100));
                case 1 -> text.appendCodePoint(0x3040 + below(0x60));
                case 2 -> text.appendCodePoint(0x4e00 + below(0x5000));
                default -> text.appendCodePoint(0x1f300 + below(0x200));
            }
        }
        return text.toString();
    }

    static String key(int number) {
        if (number == 0) return "";
        if (number == 1) return "   ";
        if (number == KEYS - 1) return "k".repeat(1 << 20);
        return switch (number % 3) {
            case 0 -> ascii(1 + below(40));
            case 1 -> wide(1 + below(20));
            default -> ascii(200 + below(2_000));
        };
    }

    public static void main(String[] args) {
        int[] counts = {3, 12, 15};
        StringBuilder[] rows = {new StringBuilder("3 "), new StringBuilder("12 "), new StringBuilder("15 ")};
        for (int number = 0; number < KEYS; number++) {
            byte[] bytes = key(number).getBytes(StandardCharsets.UTF_8);
            for (int i = 0; i < counts.length; i++) {
                rows[i].append(Character.forDigit(BuiltInPartitioner.partitionForKey(bytes, counts[i]), 36));
            }
        }
        for (StringBuilder row : rows) System.out.println(row);
    }
}
