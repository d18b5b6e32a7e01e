package payments

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestEveryOrderIsPaidOnce(t *testing.T) {
	for _, fault := range []string{"Drop:EndTxnResponse#1", "Drop:TxnOffsetCommit#1", "Duplicate:EndTxn#1"} {
		t.Run(fault, func(t *testing.T) {
			lab, ctx := Start(t, "orders:1,payments:1"), context.Background()
			placed := Place(ctx, lab.BootstrapServers, "order-1", "order-2")
			lab.Post("/pipeline", Body{"source": "orders", "target": "payments"})
			lab.Post("/faults", Body{"fault": fault})
			if err := errors.Join(placed, Run(ctx, lab.BootstrapServers, 2)); err != nil {
				t.Fatal(err)
			}
			if paid := lab.Values("payments"); !slices.Equal(paid, []string{"paid: order-1", "paid: order-2"}) {
				t.Fatal(paid)
			}
			lab.Check("exactly-once")
		})
	}
}
