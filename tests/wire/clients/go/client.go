// Go's franz-go, told what to do line by line: a name, a call, its arguments.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type instance struct {
	session  *kgo.GroupTransactSession
	out      string
	assigned atomic.Int64
}

var (
	clients   = map[string]*kgo.Client{}
	instances = map[string]*instance{}
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		result, err := run(strings.Split(in.Text(), "\t"))
		outcome := "ok\t" + result
		if err != nil {
			outcome = "error\t" + err.Error()
		}
		fmt.Println(strings.ReplaceAll(outcome, "\n", " "))
	}
}

func run(c []string) (string, error) {
	patience := time.Minute
	if longest := milliseconds("CLIENT_LONGEST_MS"); longest > 0 {
		patience = longest
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, worker := clients[c[0]], instances[c[0]]
	switch c[1] {
	case "producer":
		return "", open(c[0], producing(c[2], c[3])...)
	case "consumer":
		return "", open(c[0], consuming(c[2], c[3], c[4], c[5])...)
	case "instance":
		return "", begin(c)
	case "init":
		_, _, err := client.ProducerID(ctx)
		return "", err
	case "begin":
		return "", client.BeginTransaction()
	case "send":
		partition, _ := strconv.Atoi(c[3])
		record := &kgo.Record{Topic: c[2], Partition: int32(partition), Value: []byte(c[4])}
		err := client.ProduceSync(ctx, record).FirstErr()
		return strconv.FormatInt(record.Offset, 10), err
	case "enqueue":
		partition, _ := strconv.Atoi(c[3])
		// A context of its own: this one ends with the call, and the record with it.
		client.Produce(context.Background(), &kgo.Record{Topic: c[2], Partition: int32(partition), Value: []byte(c[4])}, nil)
		return "", nil
	case "commit":
		if group, _ := client.GroupMetadata(); group != "" {
			return "", client.CommitUncommittedOffsets(ctx)
		}
		if err := client.Flush(ctx); err != nil {
			return "", err
		}
		return "", client.EndTransaction(ctx, kgo.TryCommit)
	case "abort":
		return "", client.EndTransaction(ctx, kgo.TryAbort)
	case "poll":
		return poll(client)
	case "step":
		return step(ctx, worker, kgo.TransactionEndTry(c[2] == "commit"))
	case "assigned":
		return strconv.FormatInt(worker.assigned.Load(), 10), nil
	case "committed":
		return committed(ctx, c)
	case "close":
		if worker != nil {
			worker.session.Close()
		} else {
			client.Close()
		}
		return "", nil
	}
	panic(c[1])
}

func producing(servers, id string) []kgo.Opt {
	options := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(servers, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0), kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(50 * time.Millisecond), kgo.AlwaysRetryEOF(),
	}
	if id != "" {
		options = append(options, kgo.TransactionalID(id))
		options = append(options, shorter()...)
	}
	return options
}

// shorter returns the timeouts that the environment asks for.
func shorter() []kgo.Opt {
	request, longest := milliseconds("CLIENT_REQUEST_MS"), milliseconds("CLIENT_LONGEST_MS")
	if request == 0 {
		return nil
	}
	return []kgo.Opt{
		kgo.RequestTimeoutOverhead(request), kgo.ProduceRequestTimeout(request), kgo.RetryTimeout(longest),
		kgo.TransactionTimeout(longest), kgo.RecordDeliveryTimeout(longest), kgo.SessionTimeout(6 * time.Second), kgo.MetadataMaxAge(longest),
	}
}

func milliseconds(name string) time.Duration {
	number, _ := strconv.Atoi(os.Getenv(name))
	return time.Duration(number) * time.Millisecond
}

func consuming(servers, group, topic, isolation string) []kgo.Opt {
	level := kgo.ReadUncommitted()
	if isolation == "read_committed" {
		level = kgo.ReadCommitted()
	}
	return []kgo.Opt{
		kgo.SeedBrokers(strings.Split(servers, ",")...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(level), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
		kgo.MetadataMinAge(50 * time.Millisecond), kgo.FetchMaxWait(200 * time.Millisecond), kgo.AlwaysRetryEOF(),
	}
}

func open(name string, options ...kgo.Opt) error {
	client, err := kgo.NewClient(options...)
	clients[name] = client
	return err
}

// begin starts a session that consumes in a group and commits offsets and records in one transaction.
func begin(c []string) error {
	worker := &instance{out: c[5]}
	changes := func(by int64) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, of map[string][]int32) {
			worker.assigned.Add(by * int64(len(of[c[4]])))
		}
	}
	options := append(producing(c[2], c[6]), consuming(c[2], c[3], c[4], "read_committed")...)
	options = append(options, kgo.RequireStableFetchOffsets(), kgo.OnPartitionsAssigned(changes(1)),
		kgo.OnPartitionsRevoked(changes(-1)), kgo.OnPartitionsLost(changes(-1)))
	session, err := kgo.NewGroupTransactSession(options...)
	worker.session, instances[c[0]] = session, worker
	return err
}

func poll(client *kgo.Client) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	var rows []string
	client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
		rows = append(rows, fmt.Sprintf("%d:%d:%s", r.Partition, r.Offset, r.Value))
	})
	return strings.Join(rows, ","), nil
}

func step(ctx context.Context, worker *instance, end kgo.TransactionEndTry) (string, error) {
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	records := worker.session.PollFetches(short).Records()
	if len(records) == 0 {
		return "", nil
	}
	if err := worker.session.Begin(); err != nil {
		return "", err
	}
	var values []string
	for _, r := range records {
		worker.session.Produce(ctx, &kgo.Record{Topic: worker.out, Partition: r.Partition, Value: r.Value}, nil)
		values = append(values, string(r.Value))
	}
	committed, err := worker.session.End(ctx, end)
	if err != nil || committed != bool(end) {
		return "", err
	}
	return strings.Join(values, ","), nil
}

func committed(ctx context.Context, c []string) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(c[2], ",")...))
	if err != nil {
		return "", err
	}
	defer client.Close()
	partition, _ := strconv.Atoi(c[5])
	found, err := kadm.NewClient(client).FetchOffsets(ctx, c[3])
	if offset, ok := found.Lookup(c[4], int32(partition)); ok {
		return strconv.FormatInt(offset.At, 10), offset.Err
	}
	return "-1", err
}
