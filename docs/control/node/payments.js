// The service under test: of every order it makes one payment, exactly once.
import kafkajs from "kafkajs";

const { Kafka, Partitioners, logLevel } = kafkajs;

function connect(servers) {
	const retry = { initialRetryTime: 100, maxRetryTime: 1000, retries: 40 };
	return new Kafka({ brokers: servers.split(","), logLevel: logLevel.NOTHING, retry });
}

function makeProducer(servers, more) {
	const createPartitioner = Partitioners.DefaultPartitioner;
	return connect(servers).producer({ idempotent: true, maxInFlightRequests: 1, createPartitioner, ...more });
}

export async function place(servers, orders) {
	const producer = makeProducer(servers, {});
	await producer.connect();
	await producer.send({ topic: "orders", acks: -1, messages: orders.map((order) => ({ key: order, value: order })) });
	await producer.disconnect();
}

export async function run(servers, count) {
	const consumerGroupId = "payments";
	const producer = makeProducer(servers, { transactionalId: "payments-1" });
	const consumer = connect(servers).consumer({ groupId: consumerGroupId, maxWaitTimeInMs: 200 });
	await producer.connect();
	await consumer.connect();
	await consumer.subscribe({ topics: ["orders"], fromBeginning: true });
	let paid = 0;
	await new Promise((resolve) => {
		// An error of this function makes kafkajs read the batch again, from the committed offset.
		const eachBatch = async ({ batch, resolveOffset }) => {
			const { topic, partition, messages } = batch;
			const transaction = await producer.transaction();
			try {
				const payments = messages.map(({ key, value }) => ({ key, value: `paid: ${value}` }));
				await transaction.send({ topic: "payments", acks: -1, messages: payments });
				const offset = (BigInt(batch.lastOffset()) + 1n).toString();
				const topics = [{ topic, partitions: [{ partition, offset }] }];
				await transaction.sendOffsets({ consumerGroupId, topics });
				await transaction.commit();
			} catch (error) {
				await transaction.abort();
				throw error;
			}
			resolveOffset(batch.lastOffset());
			paid += messages.length;
			if (paid >= count) resolve();
		};
		consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch });
	});
	await consumer.disconnect();
	await producer.disconnect();
}
