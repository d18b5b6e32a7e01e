// Three faults, the same as in the other languages; `node --test` runs them.
import assert from "node:assert/strict";
import test from "node:test";
import { KafkaLab } from "./kafkalab.js";
import { place, run } from "./payments.js";

for (const fault of ["Drop:EndTxnResponse#1", "Drop:TxnOffsetCommit#1", "Duplicate:EndTxn#1"]) {
	test(`every order is paid once: ${fault}`, async (t) => {
		const lab = await KafkaLab.start("orders:1,payments:1");
		t.after(() => lab.close());
		await place(lab.bootstrapServers, ["order-1", "order-2", "order-3"]);
		await lab.pipeline("orders", "payments");
		await lab.fault(fault);
		await run(lab.bootstrapServers, 3);
		assert.deepEqual(await lab.values("payments"), ["paid: order-1", "paid: order-2", "paid: order-3"]);
		await lab.check("exactly-once");
	});
}
