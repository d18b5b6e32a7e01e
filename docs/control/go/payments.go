// Package payments is the service under test: of every order it makes one payment, exactly once.
package payments

import (
	"context"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Place writes orders.
func Place(ctx context.Context, servers string, orders ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(servers, ",")...))
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for _, order := range orders {
		records = append(records, &kgo.Record{Topic: "orders", Key: []byte(order), Value: []byte(order)})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// Run pays until `count` orders are paid.
func Run(ctx context.Context, servers string, count int) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.TransactionalID("payments-1"),
		kgo.ConsumerGroup("payments"),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	for paid := 0; paid < count; {
		orders := session.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return err
		}
		if orders.Empty() {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		promise := kgo.AbortingFirstErrPromise(session.Client())
		orders.EachRecord(func(order *kgo.Record) {
			value := append([]byte("paid: "), order.Value...)
			session.Produce(ctx, &kgo.Record{Topic: "payments", Key: order.Key, Value: value}, promise.Promise())
		})
		committed, err := session.End(ctx, promise.Err() == nil)
		if err != nil {
			return err
		}
		if committed {
			paid += orders.NumRecords()
		}
	}
	return nil
}
