import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The service under test: of every order it makes one payment, exactly once. */
final class Payments {
    static void place(String servers, List<String> orders) {
        try (var producer = producer(servers, Map.of())) {
            for (String order : orders) producer.send(new ProducerRecord<>("orders", order, order));
        }
    }

    static void run(String servers, int count) {
        Map<String, Object> reading = Map.of(
                "bootstrap.servers", servers, "group.id", "payments", "auto.offset.reset", "earliest",
                "enable.auto.commit", false, "isolation.level", "read_committed");
        try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
                var producer = producer(servers, Map.of("transactional.id", "payments-1"))) {
            producer.initTransactions();
            consumer.subscribe(List.of("orders"));
            for (int paid = 0; paid < count; ) {
                var orders = consumer.poll(Duration.ofMillis(200));
                if (orders.isEmpty()) continue;
                try {
                    producer.beginTransaction();
                    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                    for (ConsumerRecord<String, String> order : orders) {
                        producer.send(new ProducerRecord<>("payments", order.key(), "paid: " + order.value()));
                        var place = new TopicPartition(order.topic(), order.partition());
                        next.put(place, new OffsetAndMetadata(order.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
                    commit(producer);
                    paid += orders.count();
                } catch (KafkaException error) {
                    producer.abortTransaction();
                    consumer.committed(consumer.assignment()).forEach((place, committed) ->
                            consumer.seek(place, committed == null ? 0 : committed.offset()));
                }
            }
        }
    }

    /** After a time-out the outcome is unknown: ask again. */
    private static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException unknown) {
                continue;
            }
        }
    }

    private static KafkaProducer<String, String> producer(String servers, Map<String, Object> more) {
        Map<String, Object> config = new HashMap<>(more);
        config.put("bootstrap.servers", servers);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }
}
