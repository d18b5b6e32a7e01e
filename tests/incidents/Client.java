// A Java application on Kafka that reads its steps from standard input and answers each with "ok" or "failed".
// Its log, as the Java client and slf4j write it, is what the incidents hold.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

public class Client {
    static final Logger log = LoggerFactory.getLogger(System.getProperty("app", "com.example.Worker"));
    static final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
    static final Map<String, KafkaConsumer<String, String>> consumers = new HashMap<>();
    static final Map<String, Map<TopicPartition, OffsetAndMetadata>> read = new HashMap<>();

    static Properties settings(String[] step) {
        Properties found = new Properties();
        found.put("bootstrap.servers", System.getProperty("bootstrap"));
        for (String role : List.of("key", "value")) {
            found.put(role + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            found.put(role + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        for (int i = 2; i < step.length; i++) {
            String[] pair = step[i].split("=", 2);
            found.put(pair[0], pair[1]);
        }
        return found;
    }

    static TopicPartition partition(String[] step, int at) {
        return new TopicPartition(step[at], Integer.parseInt(step[at + 1]));
    }

    static void poll(String name, String[] step) {
        KafkaConsumer<String, String> consumer = consumers.get(name);
        long end = System.currentTimeMillis() + Long.parseLong(step[2]);
        int count = 0;
        while (System.currentTimeMillis() < end) {
            for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(200))) {
                read.get(name).put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                count++;
            }
        }
        for (TopicPartition p : consumer.assignment()) log.info("{} at position {}", p, consumer.position(p));
        log.info("{} records in {} ms", count, step[2]);
    }

    static void print(String name, String[] step) {
        long end = System.currentTimeMillis() + Long.parseLong(step[2]);
        while (System.currentTimeMillis() < end) {
            for (ConsumerRecord<String, String> r : consumers.get(name).poll(Duration.ofMillis(200))) {
                log.info("{}-{}@{}: {} {}", r.topic(), r.partition(), r.offset(), r.key(), r.value());
            }
        }
    }

    static void burst(KafkaProducer<String, String> producer, String[] step) {
        new Thread(() -> {
            long end = System.currentTimeMillis() + Long.parseLong(step[4]);
            boolean[] failed = {false};
            for (int i = 1; !failed[0] && System.currentTimeMillis() < end; i++) {
                for (int partition : new int[] {0, i % Integer.parseInt(step[3])}) {
                    String key = step[1] + "/" + i;
                    try {
                        producer.send(new ProducerRecord<>(step[2], partition, key, "x"), (meta, e) -> {
                            if (e != null && !failed[0]) log.error("record {} was not written", key, e);
                            failed[0] |= e != null;
                        });
                    } catch (Exception e) {
                        failed[0] = true;
                    }
                }
                producer.flush();
            }
        }).start();
    }

    static void act(String[] step) throws Exception {
        String name = step.length > 1 ? step[1] : "";
        KafkaProducer<String, String> producer = producers.get(name);
        switch (step[0]) {
            case "producer": producers.put(name, new KafkaProducer<>(settings(step))); break;
            case "consumer":
                consumers.put(name, new KafkaConsumer<>(settings(step)));
                read.put(name, new HashMap<>());
                break;
            case "init": producer.initTransactions(); break;
            case "begin": producer.beginTransaction(); break;
            case "send":
                producer.send(new ProducerRecord<>(step[2], Integer.parseInt(step[3]), step[4], step[5]), (meta, e) -> {
                    if (e != null) log.error("record {} was not written", step[4], e);
                });
                break;
            case "sync":
                producer.send(new ProducerRecord<>(step[2], Integer.parseInt(step[3]), step[4], step[5])).get();
                break;
            case "burst": burst(producer, step); break;
            case "flush": producer.flush(); break;
            case "commit": producer.commitTransaction(); break;
            case "abort": producer.abortTransaction(); break;
            case "close": producer.close(Duration.ofSeconds(2)); break;
            case "subscribe": consumers.get(name).subscribe(List.of(step[2])); break;
            case "assign": consumers.get(name).assign(List.of(partition(step, 2))); break;
            case "seek": consumers.get(name).seek(partition(step, 2), Long.parseLong(step[4])); break;
            case "poll": poll(name, step); break;
            case "print": print(name, step); break;
            case "commitread": consumers.get(name).commitSync(read.get(name)); break;
            case "log": log.info(step[1]); break;
            case "error": log.error(step[1]); break;
            case "halt": Runtime.getRuntime().halt(1);
            default: throw new IllegalArgumentException(step[0]);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader steps = new BufferedReader(new InputStreamReader(System.in));
        for (String line = steps.readLine(); line != null; line = steps.readLine()) {
            String[] step = line.split("\t");
            try {
                act(step);
                System.out.println("ok");
            } catch (Exception e) {
                log.error("{} failed", step[0], e);
                System.out.println("failed " + e);
            }
            System.out.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
