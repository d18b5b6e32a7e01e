// Go's sarama, told what to do line by line: a name, a call, its arguments.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

const pollTime = 300 * time.Millisecond

var errFatal = errors.New("a fatal error of the producer")

var (
	producers = map[string]*writer{}
	members   = map[string]*member{}
	instances = map[string]*instance{}
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		result, err := run(strings.Split(in.Text(), "\t"))
		outcome := "ok\t" + result
		if err != nil {
			outcome = "error\t" + describe(err)
		}
		fmt.Println(strings.ReplaceAll(outcome, "\n", " "))
	}
}

// describe begins with FATAL if a newer producer has the transactional id, or if the producer can do nothing more.
func describe(err error) string {
	for _, fatal := range []error{errFatal, sarama.ErrProducerFenced, sarama.ErrInvalidProducerEpoch} {
		if errors.Is(err, fatal) {
			return "FATAL " + err.Error()
		}
	}
	return err.Error()
}

func run(c []string) (string, error) {
	producer, reader, worker := producers[c[0]], members[c[0]], instances[c[0]]
	switch c[1] {
	case "producer":
		made, err := write(c[2], c[3])
		producers[c[0]] = made
		return "", err
	case "consumer":
		made, err := join(c[2], c[3], c[4], c[5])
		members[c[0]] = made
		return "", err
	case "instance":
		made, err := begin(c)
		instances[c[0]] = made
		return "", err
	case "init": // NewAsyncProducer has sent InitProducerId
		return "", nil
	case "begin":
		return "", producer.BeginTxn()
	case "enqueue":
		producer.enqueue(c)
		return "", nil
	case "send":
		sent := producer.enqueue(c)
		err := <-sent.Metadata.(chan error)
		return strconv.FormatInt(sent.Offset, 10), err
	case "commit":
		if reader != nil {
			reader.commit()
			return "", nil
		}
		return "", producer.CommitTxn()
	case "abort":
		return "", producer.AbortTxn()
	case "poll":
		return reader.poll(), nil
	case "step":
		return worker.step(c[2] == "commit")
	case "assigned":
		return strconv.FormatInt(worker.assigned.Load(), 10), nil
	case "committed":
		return committed(c)
	case "close":
		if reader != nil {
			return "", reader.close()
		}
		if worker != nil {
			return "", errors.Join(worker.close(), worker.producer.Close())
		}
		return "", producer.Close()
	}
	panic(c[1])
}

// writer sends, and tells each message's own channel what came of it.
type writer struct{ sarama.AsyncProducer }

func write(servers, id string) (*writer, error) {
	made, err := sarama.NewAsyncProducer(strings.Split(servers, ","), producing(id))
	if err != nil {
		return nil, err
	}
	go func() {
		for one := range made.Successes() {
			one.Metadata.(chan error) <- nil
		}
	}()
	go func() {
		for one := range made.Errors() {
			one.Msg.Metadata.(chan error) <- one.Err
		}
	}()
	return &writer{made}, nil
}

func (w *writer) enqueue(c []string) *sarama.ProducerMessage {
	partition, _ := strconv.Atoi(c[3])
	sent := message(c[2], int32(partition), []byte(c[4]))
	sent.Metadata = make(chan error, 1)
	w.Input() <- sent
	return sent
}

func message(topic string, partition int32, value []byte) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.ByteEncoder(value)}
}

// producing is what https://pkg.go.dev/github.com/IBM/sarama#Config demands of an idempotent producer.
func producing(id string) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	config.Producer.Retry.Max = 100
	config.Producer.Transaction.ID = id
	if longest := milliseconds("CLIENT_LONGEST_MS"); longest > 0 {
		config.Producer.Transaction.Timeout = longest
	}
	shorten(config)
	return config
}

// shorten sets the timeouts that the environment asks for.
func shorten(config *sarama.Config) {
	if request := milliseconds("CLIENT_REQUEST_MS"); request > 0 {
		config.Net.ReadTimeout = request
		config.Producer.Timeout = request
		config.Consumer.Group.Session.Timeout = 6 * time.Second
	}
}

func milliseconds(name string) time.Duration {
	number, _ := strconv.Atoi(os.Getenv(name))
	return time.Duration(number) * time.Millisecond
}

func consuming(isolation string) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.IsolationLevel = sarama.ReadUncommitted
	if isolation == "read_committed" {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = pollTime
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	shorten(config)
	return config
}

func committed(c []string) (string, error) {
	admin, err := sarama.NewClusterAdmin(strings.Split(c[2], ","), consuming(""))
	if err != nil {
		return "", err
	}
	defer admin.Close()
	partition, _ := strconv.Atoi(c[5])
	found, err := admin.ListConsumerGroupOffsets(c[3], map[string][]int32{c[4]: {int32(partition)}})
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(found.GetBlock(c[4], int32(partition)).Offset, 10), nil
}
