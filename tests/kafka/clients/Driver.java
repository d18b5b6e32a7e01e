// Runs Java's producer or consumer as the recorder says: one command a line on stdin, one outcome a line on stdout.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Driver {
    static KafkaProducer<String, String> producer;
    static KafkaConsumer<String, String> consumer;
    static final List<Future<RecordMetadata>> sends = new ArrayList<>();
    static final List<Object> callbacks = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String outcome;
            try {
                outcome = json(run(line.split("\t", -1)));
            } catch (Exception e) {
                outcome = json(failure(e));
            }
            System.out.println(outcome);
            System.out.flush();
        }
    }

    static Object run(String[] c) throws Exception {
        switch (c[0]) {
            case "producer": {
                producer = new KafkaProducer<>(properties(c), new StringSerializer(), new StringSerializer());
                return "ok";
            }
            case "consumer": {
                consumer = new KafkaConsumer<>(properties(c), new StringDeserializer(), new StringDeserializer());
                return "ok";
            }
            case "futures":
                return futures(Long.parseLong(c[1]));
            case "end":
                return end();
            case "sleep":
                Thread.sleep(Long.parseLong(c[1]));
                return "ok";
            default:
                return producer != null ? producerCall(c) : consumerCall(c);
        }
    }

    static Object producerCall(String[] c) {
        switch (c[0]) {
            case "initTransactions": producer.initTransactions(); return "ok";
            case "beginTransaction": producer.beginTransaction(); return "ok";
            case "commitTransaction": producer.commitTransaction(); return "ok";
            case "abortTransaction": producer.abortTransaction(); return "ok";
            case "flush": producer.flush(); return "ok";
            case "close":
                if (c.length > 1) producer.close(Duration.ofMillis(Long.parseLong(c[1])));
                else producer.close();
                return "ok";
            case "send": {
                TopicPartition tp = partition(c[1]);
                sends.add(producer.send(new ProducerRecord<>(tp.topic(), tp.partition(), null, c[2])));
                return "sent " + sends.size();
            }
            case "get":
                return future(sends.get(Integer.parseInt(c[1]) - 1), 60_000);
            case "sendOffsetsToTransaction": {
                String member = c.length > 4 ? c[4] : "";
                int generation = c.length > 3 ? Integer.parseInt(c[3]) : -1;
                producer.sendOffsetsToTransaction(
                    offsets(c[1]), new ConsumerGroupMetadata(c[2], generation, member, Optional.empty()));
                return "ok";
            }
            default: throw new Error(c[0]);
        }
    }

    static Object consumerCall(String[] c) {
        switch (c[0]) {
            case "subscribe": consumer.subscribe(Arrays.asList(c[1].split(","))); return "ok";
            case "assign": consumer.assign(partitions(c[1])); return "ok";
            case "unsubscribe": consumer.unsubscribe(); return "ok";
            case "poll": {
                List<Object> found = new ArrayList<>();
                for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(Long.parseLong(c[1])))) {
                    found.add(r.topic() + "-" + r.partition() + "@" + r.offset() + "=" + r.value());
                }
                return found;
            }
            case "seek": consumer.seek(partition(c[1]), Long.parseLong(c[2])); return "ok";
            case "position": return consumer.position(partition(c[1]));
            case "commitSync":
                if (c.length > 1) consumer.commitSync(offsets(c[1]));
                else consumer.commitSync();
                return "ok";
            case "commitAsync": {
                int place = callbacks.size();
                callbacks.add("pending");
                consumer.commitAsync(offsets(c[1]), (o, e) -> callbacks.set(place, e == null ? "ok" : failure(e)));
                return "ok";
            }
            case "callback": return callbacks.get(Integer.parseInt(c[1]) - 1);
            case "committed": {
                Map<String, Object> found = new TreeMap<>();
                consumer.committed(new java.util.HashSet<>(partitions(c[1])))
                    .forEach((p, o) -> found.put(p.toString(), o == null ? -1L : o.offset()));
                return found;
            }
            case "endOffsets": {
                Map<String, Object> found = new TreeMap<>();
                consumer.endOffsets(partitions(c[1])).forEach((p, o) -> found.put(p.toString(), o));
                return found;
            }
            case "beginningOffsets": {
                Map<String, Object> found = new TreeMap<>();
                consumer.beginningOffsets(partitions(c[1])).forEach((p, o) -> found.put(p.toString(), o));
                return found;
            }
            case "assignment": {
                List<Object> found = new ArrayList<>();
                consumer.assignment().stream().map(TopicPartition::toString).sorted().forEach(found::add);
                return found;
            }
            case "groupMetadata": return consumer.groupMetadata().generationId();
            case "close": consumer.close(); return "ok";
            default: throw new Error(c[0]);
        }
    }

    static Object futures(long limit) {
        List<Object> found = new ArrayList<>();
        for (Future<RecordMetadata> send : sends) found.add(future(send, limit));
        return found;
    }

    static Object future(Future<RecordMetadata> send, long limit) {
        try {
            RecordMetadata m = send.get(limit, TimeUnit.MILLISECONDS);
            return m.topic() + "-" + m.partition() + "@" + m.offset();
        } catch (ExecutionException e) {
            return failure(e.getCause());
        } catch (java.util.concurrent.TimeoutException e) {
            return "pending";
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    static Object end() {
        if (producer != null) producer.close(Duration.ZERO);
        if (consumer != null) {
            try {
                consumer.close(Duration.ZERO);
            } catch (Exception e) {
                // what was to be seen has been recorded
            }
        }
        producer = null;
        consumer = null;
        sends.clear();
        callbacks.clear();
        return "ok";
    }

    static Properties properties(String[] c) {
        Properties found = new Properties();
        for (int i = 1; i < c.length; i++) {
            int at = c[i].indexOf('=');
            found.put(c[i].substring(0, at), c[i].substring(at + 1));
        }
        return found;
    }

    static TopicPartition partition(String name) {
        int at = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, at), Integer.parseInt(name.substring(at + 1)));
    }

    static List<TopicPartition> partitions(String names) {
        List<TopicPartition> found = new ArrayList<>();
        for (String name : names.split(",")) found.add(partition(name));
        return found;
    }

    static Map<TopicPartition, OffsetAndMetadata> offsets(String given) {
        Map<TopicPartition, OffsetAndMetadata> found = new HashMap<>();
        for (String one : given.split(",")) {
            String[] both = one.split("=");
            found.put(partition(both[0]), new OffsetAndMetadata(Long.parseLong(both[1])));
        }
        return found;
    }

    static Map<String, Object> failure(Throwable e) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("exception", e.getClass().getSimpleName());
        found.put("message", String.valueOf(e.getMessage()));
        if (e.getCause() != null && e.getCause() != e) found.put("cause", failure(e.getCause()));
        return found;
    }

    static String json(Object o) {
        if (o instanceof Map<?, ?> m) {
            List<String> parts = new ArrayList<>();
            m.forEach((k, v) -> parts.add(json(k.toString()) + ": " + json(v)));
            return "{" + String.join(", ", parts) + "}";
        }
        if (o instanceof List<?> l) {
            List<String> parts = new ArrayList<>();
            l.forEach(v -> parts.add(json(v)));
            return "[" + String.join(", ", parts) + "]";
        }
        if (o instanceof Number) return o.toString();
        StringBuilder out = new StringBuilder("\"");
        for (char ch : o.toString().toCharArray()) {
            if (ch == '"' || ch == '\\') out.append('\\').append(ch);
            else if (ch < ' ') out.append(String.format("\\u%04x", (int) ch));
            else out.append(ch);
        }
        return out.append('"').toString();
    }
}
