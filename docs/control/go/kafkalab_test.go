package payments

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// KafkaLab is a lab broker for one test. Copy this file into your tests.
type KafkaLab struct {
	t                     *testing.T
	url, BootstrapServers string
}

type Body map[string]any // the parameters of a POST

// Start runs `kafkalab serve --control` with topics ("orders:1,payments:3") and further options until the test ends,
// or uses one that runs (KAFKALAB_CONTROL). KAFKALAB has the command, if it is another than `kafkalab`.
func Start(t *testing.T, topics string, options ...string) *KafkaLab {
	t.Helper()
	lab := &KafkaLab{t: t, url: os.Getenv("KAFKALAB_CONTROL")}
	if lab.url == "" {
		words := strings.Fields(cmp.Or(os.Getenv("KAFKALAB"), "kafkalab"))
		words = append(words, "serve", "--port", "0", "--control", "0", "--topics", topics)
		words = append(words, "--config", "group.initial.rebalance.delay.ms=0")
		process := exec.Command(words[0], append(words[1:], options...)...)
		process.Stderr = os.Stderr
		out, _ := process.StdoutPipe()
		if err := process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { process.Process.Signal(syscall.SIGTERM); process.Wait() })
		for lines := bufio.NewScanner(out); lab.url == "" && lines.Scan(); {
			if name, value, _ := strings.Cut(lines.Text(), ": "); name == "control" {
				lab.url = value
			}
		}
	}
	status := map[string]any{}
	lab.Get("/status", &status)
	lab.BootstrapServers = status["bootstrap_servers"].(string)
	return lab
}

// Get asks; the test ends with the lab's sentence for what is wrong.
func (lab *KafkaLab) Get(path string, into any) { lab.t.Helper(); lab.ask("GET", path, nil, into) }

// Post presses; the test ends with the lab's sentence for what is wrong.
func (lab *KafkaLab) Post(path string, body Body) {
	lab.t.Helper()
	lab.ask("POST", path, body, &Body{})
}

func (lab *KafkaLab) ask(method, path string, body Body, into any) {
	lab.t.Helper()
	var data []byte
	if body != nil {
		data, _ = json.Marshal(body)
	}
	request, _ := http.NewRequest(method, lab.url+path, bytes.NewReader(data))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		lab.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		into = &struct{ Error string }{}
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != 200 {
		lab.t.Fatal(path, into, err)
	}
}

// Values returns what a read_committed consumer would be given.
func (lab *KafkaLab) Values(topic string) (values []string) {
	var found struct{ Records []struct{ Value string } }
	lab.Get("/records?topic="+url.QueryEscape(topic), &found)
	for _, record := range found.Records {
		values = append(values, record.Value)
	}
	return values
}

// Check ends the test, with frames and steps, if a promise is broken or a fault has struck nothing.
func (lab *KafkaLab) Check(name string) {
	lab.t.Helper()
	verdict := map[string]any{}
	if lab.Get("/verdict?check="+url.QueryEscape(name), &verdict); verdict["holds"] != true {
		lab.t.Fatal(verdict["message"])
	}
}
