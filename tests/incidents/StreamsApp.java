// A Kafka Streams application with exactly_once_v2 whose processing of the key "slow" takes longer than
// max.poll.interval.ms.

import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.slf4j.LoggerFactory;

public class StreamsApp {
    static String price(String key, String value) {
        if (key.equals("slow")) {
            LoggerFactory.getLogger(System.getProperty("app")).info("asking the carrier for the price of {}", value);
            try {
                Thread.sleep(14_000);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        return value + " 4.90";
    }

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("application.id", "parcel-pricing");
        p.put("bootstrap.servers", System.getProperty("bootstrap"));
        p.put("processing.guarantee", "exactly_once_v2");
        p.put("commit.interval.ms", "1000");
        p.put("main.consumer.max.poll.interval.ms", "6000");
        p.put("main.consumer.auto.offset.reset", "earliest");
        p.put("replication.factor", "1");
        p.put("state.dir", System.getProperty("java.io.tmpdir") + "/streams-" + ProcessHandle.current().pid());
        p.put("default.key.serde", Serdes.String().getClass());
        p.put("default.value.serde", Serdes.String().getClass());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("parcels").mapValues(StreamsApp::price).to("priced-parcels");
        KafkaStreams streams = new KafkaStreams(builder.build(), p);
        streams.start();
        System.in.read();
        Runtime.getRuntime().halt(0);
    }
}
