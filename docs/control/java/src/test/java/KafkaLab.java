import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A lab broker for one test: starts `kafkalab serve --control`, or uses one that runs (KAFKALAB_CONTROL). The variable
 * KAFKALAB has the command, if it is another than `kafkalab`. Copy this file into your tests.
 */
public final class KafkaLab implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final Process process;
    private final String url;
    public final String bootstrapServers;

    /** Start brokers with topics ("orders:1,payments:3") and further options of `kafkalab serve`. */
    public KafkaLab(String topics, String... options) throws IOException, InterruptedException {
        String running = System.getenv("KAFKALAB_CONTROL");
        if (running != null) {
            process = null;
            url = running;
        } else {
            String command = System.getenv().getOrDefault("KAFKALAB", "kafkalab");
            List<String> words = new ArrayList<>(List.of(command.split(" ")));
            words.addAll(List.of("serve", "--port", "0", "--control", "0", "--topics", topics));
            words.addAll(List.of("--config", "group.initial.rebalance.delay.ms=0"));
            words.addAll(List.of(options));
            process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            BufferedReader lines = process.inputReader();
            lines.readLine();
            String line = lines.readLine();
            if (line == null) throw new IOException(command + " has not started; its reason is on stderr");
            url = line.substring("control: ".length());
        }
        bootstrapServers = get("/status").get("bootstrap_servers").asText();
    }

    /** Ask; an IllegalStateException has the lab's sentence for what is wrong. */
    public JsonNode get(String path) throws IOException, InterruptedException {
        return ask(path, HttpRequest.newBuilder().GET());
    }

    /** Press; an IllegalStateException has the lab's sentence for what is wrong. */
    public JsonNode post(String path, Map<String, ?> body) throws IOException, InterruptedException {
        var data = HttpRequest.BodyPublishers.ofString(JSON.writeValueAsString(body));
        return ask(path, HttpRequest.newBuilder().header("Content-Type", "application/json").POST(data));
    }

    private JsonNode ask(String path, HttpRequest.Builder request) throws IOException, InterruptedException {
        var answer = http.send(request.uri(URI.create(url + path)).build(), BodyHandlers.ofString());
        JsonNode found = JSON.readTree(answer.body());
        if (answer.statusCode() != 200) throw new IllegalStateException(path + ": " + found.get("error").asText());
        return found;
    }

    /** Strike: "Drop:EndTxnResponse#1", "Delay:Produce#2:500", "Crash:b2". */
    public void fault(String words) throws IOException, InterruptedException {
        post("/faults", Map.of("fault", words));
    }

    /** Declare that each record of one topic makes one of the other with the same key. */
    public void pipeline(String source, String target) throws IOException, InterruptedException {
        post("/pipeline", Map.of("source", source, "target", target));
    }

    /** What a read_committed consumer would be given. */
    public List<String> values(String topic) throws IOException, InterruptedException {
        List<String> values = new ArrayList<>();
        get("/records?topic=" + topic).get("records").forEach(record -> values.add(record.get("value").asText()));
        return values;
    }

    /** An AssertionError, with frames and steps, if a promise is broken or a fault has struck nothing. */
    public void check(String name) throws IOException, InterruptedException {
        JsonNode verdict = get("/verdict?check=" + URLEncoder.encode(name, StandardCharsets.UTF_8));
        if (!verdict.get("holds").asBoolean()) throw new AssertionError(verdict.get("message").asText());
    }

    /** Stop the brokers that were started here. */
    @Override
    public void close() throws InterruptedException {
        if (process != null) {
            process.destroy();
            process.waitFor();
        }
    }
}
