import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PaymentsTest {
    @ParameterizedTest
    @ValueSource(strings = {"Drop:EndTxnResponse#1", "Drop:TxnOffsetCommit#1", "Duplicate:EndTxn#1"})
    void everyOrderIsPaidOnce(String fault) throws Exception {
        try (var lab = new KafkaLab("orders:1,payments:1")) {
            Payments.place(lab.bootstrapServers, List.of("order-1", "order-2", "order-3"));
            lab.pipeline("orders", "payments");
            lab.fault(fault);
            Payments.run(lab.bootstrapServers, 3);
            assertEquals(List.of("paid: order-1", "paid: order-2", "paid: order-3"), lab.values("payments"));
            lab.check("exactly-once");
        }
    }
}
