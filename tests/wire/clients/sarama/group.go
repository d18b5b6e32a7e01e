package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
)

// membership of a group: Consume is called in a loop, since each rebalance ends it.
type membership struct {
	group    sarama.ConsumerGroup
	name     string
	topic    string
	assigned atomic.Int64
	stop     context.CancelFunc
	stopped  chan struct{}
}

func (m *membership) start(servers, group, topic, isolation string, handler sarama.ConsumerGroupHandler) error {
	made, err := sarama.NewConsumerGroup(strings.Split(servers, ","), group, consuming(isolation))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	m.group, m.name, m.topic, m.stop, m.stopped = made, group, topic, stop, make(chan struct{})
	go func() {
		defer close(m.stopped)
		for ctx.Err() == nil {
			if made.Consume(ctx, []string{topic}, handler) != nil {
				time.Sleep(pollTime / 3)
			}
		}
	}()
	return nil
}

// Setup and Cleanup begin and end what sarama calls a session: one generation of the group.
func (m *membership) Setup(session sarama.ConsumerGroupSession) error {
	m.assigned.Store(int64(len(session.Claims()[m.topic])))
	return nil
}

func (m *membership) Cleanup(sarama.ConsumerGroupSession) error {
	m.assigned.Store(0)
	return nil
}

func (m *membership) close() error {
	m.stop()
	<-m.stopped
	return m.group.Close()
}

// member reads, and commits what its polls have returned.
type member struct {
	membership
	rows    chan row
	session sarama.ConsumerGroupSession
}

type row struct {
	session sarama.ConsumerGroupSession
	message *sarama.ConsumerMessage
}

func join(servers, group, topic, isolation string) (*member, error) {
	made := &member{rows: make(chan row)}
	return made, made.start(servers, group, topic, isolation, made)
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case next, open := <-claim.Messages():
			if !open {
				return nil
			}
			select {
			case m.rows <- row{session, next}:
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) poll() string {
	var rows []string
	for until := time.After(pollTime); ; {
		select {
		case next := <-m.rows:
			m.session = next.session
			m.session.MarkMessage(next.message, "")
			one := next.message
			rows = append(rows, fmt.Sprintf("%d:%d:%s", one.Partition, one.Offset, one.Value))
		case <-until:
			return strings.Join(rows, ",")
		}
	}
}

func (m *member) commit() {
	m.session.Commit()
}

// instance consumes, transforms and produces as https://github.com/IBM/sarama/tree/main/examples/exactly_once does,
// a batch in each transaction. Its offsets carry the member's generation (KIP-447), so that one producer serves all
// partitions.
type instance struct {
	membership
	out      string
	producer sarama.AsyncProducer
	orders   chan order
}

type order struct {
	commit bool
	done   chan result
}

type result struct {
	values []string
	err    error
}

func begin(c []string) (*instance, error) {
	made := &instance{out: c[5], orders: make(chan order)}
	config := producing(c[6])
	config.Producer.Return.Successes = false
	producer, err := sarama.NewAsyncProducer(strings.Split(c[2], ","), config)
	if err != nil {
		return nil, err
	}
	made.producer = producer
	go func() {
		for range producer.Errors() { // the transaction's status says what follows from them
		}
	}()
	return made, made.start(c[2], c[3], c[4], "read_committed", made)
}

// step has one partition's batch handled, if one comes in time.
func (w *instance) step(commit bool) (string, error) {
	done := make(chan result)
	select {
	case w.orders <- order{commit, done}:
		found := <-done
		return strings.Join(found.values, ","), found.err
	case <-time.After(pollTime):
		return "", nil
	}
}

func (w *instance) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case first, open := <-claim.Messages():
			if !open {
				return nil
			}
			select {
			case order := <-w.orders:
				batch := []*sarama.ConsumerMessage{first}
				for len(claim.Messages()) > 0 {
					batch = append(batch, <-claim.Messages())
				}
				values, committed, err := w.transact(session, batch, order.commit)
				order.done <- result{values, err}
				if !committed {
					return nil // ends the session: the next one begins at the committed offsets
				}
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

// transact returns the values that have passed and whether they are committed. An error is fatal to the producer.
func (w *instance) transact(
	session sarama.ConsumerGroupSession, batch []*sarama.ConsumerMessage, commit bool,
) ([]string, bool, error) {
	if err := w.producer.BeginTxn(); err != nil {
		return nil, false, err
	}
	var values []string
	for _, one := range batch {
		w.producer.Input() <- message(w.out, one.Partition, one.Value)
		values = append(values, string(one.Value))
	}
	last := batch[len(batch)-1]
	offsets := map[string][]*sarama.PartitionOffsetMetadata{
		last.Topic: {{Partition: last.Partition, Offset: last.Offset + 1, LeaderEpoch: -1}},
	}
	group := sarama.NewConsumerGroupMetadataFromSession(session, w.name, nil)
	err := w.retry(func() error { return w.producer.AddOffsetsToTxnWithGroupMetadata(offsets, group) })
	if err == nil && commit {
		if err = w.retry(w.producer.CommitTxn); err == nil {
			return values, true, nil
		}
	}
	if err != nil {
		values = nil
	}
	if w.producer.TxnStatus()&sarama.ProducerTxnFlagFatalError == 0 {
		err = w.retry(w.producer.AbortTxn)
	}
	if w.producer.TxnStatus()&sarama.ProducerTxnFlagFatalError != 0 {
		return nil, false, fmt.Errorf("%w: %w", errFatal, err)
	}
	return values, false, err
}

// retry repeats what has failed unless the transaction must be aborted or its producer replaced.
func (w *instance) retry(act func() error) error {
	for until := time.Now().Add(time.Minute); ; {
		err := act()
		if err == nil || w.producer.TxnStatus()&sarama.ProducerTxnFlagInError != 0 || time.Now().After(until) {
			return err
		}
	}
}
