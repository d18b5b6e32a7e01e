// Java's clients, told what to do line by line: a name, a call, its arguments.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Client {
    static final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
    static final Map<String, KafkaConsumer<String, String>> consumers = new HashMap<>();
    static final Map<String, String> outs = new HashMap<>();
    static final String AGE = "metadata.max.age.ms";

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String outcome;
            try {
                outcome = "ok\t" + run(line.split("\t", -1));
            } catch (Exception e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                outcome = "error\t" + cause.getClass().getSimpleName() + "\t" + e.getMessage();
            }
            System.out.println(outcome.replace("\n", " "));
            System.out.flush();
        }
    }

    static Object run(String[] c) throws Exception {
        KafkaProducer<String, String> p = producers.get(c[0]);
        KafkaConsumer<String, String> r = consumers.get(c[0]);
        switch (c[1]) {
            case "producer":
                producers.put(c[0], producer(c[2], c[3], Arrays.copyOfRange(c, 4, c.length)));
                return "";
            case "consumer":
                consumers.put(c[0], consumer(c[2], c[3], c[5]));
                consumers.get(c[0]).subscribe(List.of(c[4]));
                return "";
            case "instance":
                consumers.put(c[0], consumer(c[2], c[3], "read_committed"));
                consumers.get(c[0]).subscribe(List.of(c[4]));
                outs.put(c[0], c[5]);
                producers.put(c[0], producer(c[2], c[6]));
                producers.get(c[0]).initTransactions();
                return "";
            case "init": p.initTransactions(); return "";
            case "begin": p.beginTransaction(); return "";
            case "send":
                return p.send(new ProducerRecord<>(c[2], Integer.parseInt(c[3]), null, c[4])).get().offset();
            case "enqueue":
                p.send(new ProducerRecord<>(c[2], Integer.parseInt(c[3]), null, c[4]));
                return "";
            case "offsets":
                p.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(c[2], Integer.parseInt(c[3])), new OffsetAndMetadata(Long.parseLong(c[4]))),
                    consumers.get(c[5]).groupMetadata());
                return "";
            case "commit":
                if (p != null) p.commitTransaction();
                else r.commitSync();
                return "";
            case "abort": p.abortTransaction(); return "";
            case "poll": {
                List<String> rows = new ArrayList<>();
                for (ConsumerRecord<String, String> one : r.poll(Duration.ofMillis(200)))
                    rows.add(one.partition() + ":" + one.offset() + ":" + one.value());
                return String.join(",", rows);
            }
            case "step": return step(p, r, outs.get(c[0]), c[2].equals("commit"));
            case "assigned": return r.assignment().size();
            case "committed": {
                TopicPartition place = new TopicPartition(c[4], Integer.parseInt(c[5]));
                try (KafkaConsumer<String, String> asking = consumer(c[2], c[3], "read_committed")) {
                    OffsetAndMetadata found = asking.committed(Set.of(place)).get(place);
                    return found == null ? -1 : found.offset();
                }
            }
            case "close":
                if (r != null) r.close();
                if (p != null) p.close();
                return "";
            default: throw new Error(c[1]);
        }
    }

    static KafkaProducer<String, String> producer(String servers, String id, String... more) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("linger.ms", "0");
        if (!id.isEmpty()) config.put("transactional.id", id);
        String request = System.getenv("CLIENT_REQUEST_MS"), longest = System.getenv("CLIENT_LONGEST_MS");
        if (request != null) {
            config.put("request.timeout.ms", request);
            for (String one : List.of("delivery.timeout.ms", "max.block.ms", "transaction.timeout.ms", AGE))
                config.put(one, longest);
        }
        for (String one : more) config.put(one.split("=")[0], one.split("=")[1]);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String servers, String group, String isolation) {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", servers);
        config.put("group.id", group);
        config.put("isolation.level", isolation);
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        if (System.getenv("CLIENT_REQUEST_MS") != null) {
            config.put("session.timeout.ms", "6000");
            config.put(AGE, System.getenv("CLIENT_LONGEST_MS"));
        }
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    /** Consume, transform, produce, as KafkaProducer's documentation does; after a refusal the records come again. */
    static String step(KafkaProducer<String, String> p, KafkaConsumer<String, String> r, String out, boolean commit) {
        ConsumerRecords<String, String> records = r.poll(Duration.ofMillis(200));
        if (records.isEmpty()) return "";
        List<String> values = new ArrayList<>();
        Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
        p.beginTransaction();
        try {
            for (ConsumerRecord<String, String> one : records) {
                p.send(new ProducerRecord<>(out, one.partition(), null, one.value()));
                next.put(new TopicPartition(one.topic(), one.partition()), new OffsetAndMetadata(one.offset() + 1));
                values.add(one.value());
            }
            p.sendOffsetsToTransaction(next, r.groupMetadata());
            if (commit) {
                p.commitTransaction();
                return String.join(",", values);
            }
        } catch (ProducerFencedException e) {
            throw e;
        } catch (KafkaException e) {
            values.clear();
        }
        p.abortTransaction();
        Map<TopicPartition, OffsetAndMetadata> committed = r.committed(r.assignment());
        for (TopicPartition one : r.assignment()) {
            if (committed.get(one) == null) r.seekToBeginning(List.of(one));
            else r.seek(one, committed.get(one));
        }
        return String.join(",", values);
    }
}
