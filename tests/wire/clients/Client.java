// Java's clients, told what to do line by line: a producer's or a consumer's name, a call, its arguments.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Client {
    static final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
    static final Map<String, KafkaConsumer<String, String>> consumers = new HashMap<>();

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
        Map<String, Object> config = new HashMap<>();
        KafkaProducer<String, String> p = producers.get(c[0]);
        KafkaConsumer<String, String> r = consumers.get(c[0]);
        switch (c[1]) {
            case "producer":
                config.put("bootstrap.servers", c[2]);
                config.put("linger.ms", "0");
                if (!c[3].isEmpty()) config.put("transactional.id", c[3]);
                for (int i = 4; i < c.length; i++) config.put(c[i].split("=")[0], c[i].split("=")[1]);
                producers.put(c[0], new KafkaProducer<>(config, new StringSerializer(), new StringSerializer()));
                return "";
            case "consumer":
                config.put("bootstrap.servers", c[2]);
                config.put("group.id", c[3]);
                config.put("isolation.level", c[4]);
                config.put("auto.offset.reset", "earliest");
                config.put("enable.auto.commit", "false");
                consumers.put(c[0], new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer()));
                consumers.get(c[0]).subscribe(List.of(c[5]));
                return "";
            case "init": p.initTransactions(); return "";
            case "begin": p.beginTransaction(); return "";
            case "send":
                return p.send(new ProducerRecord<>(c[2], Integer.parseInt(c[3]), null, c[4])).get().offset();
            case "offsets":
                p.sendOffsetsToTransaction(
                    Map.of(partition(c), new OffsetAndMetadata(Long.parseLong(c[4]))), consumers.get(c[5]).groupMetadata());
                return "";
            case "commit": p.commitTransaction(); return "";
            case "abort": p.abortTransaction(); return "";
            case "poll": {
                List<String> values = new ArrayList<>();
                for (ConsumerRecord<String, String> one : r.poll(Duration.ofMillis(200))) values.add(one.value());
                return String.join(",", values);
            }
            case "committed": {
                OffsetAndMetadata found = r.committed(Set.of(partition(c))).get(partition(c));
                return found == null ? -1 : found.offset();
            }
            case "close":
                if (p != null) p.close();
                if (r != null) r.close();
                return "";
            default: throw new Error(c[1]);
        }
    }

    static TopicPartition partition(String[] c) {
        return new TopicPartition(c[2], Integer.parseInt(c[3]));
    }
}
