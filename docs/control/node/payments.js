// The service under test: of every order it makes one payment, exactly once.
import kafkajs from "kafkajs";

const { Kafka, Partitioners, logLevel } = kafkajs;
const GROUP = "payments";

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

// Pay until `count` orders are paid. After an error the outcome of a transaction is unknown: a new producer of the same
// transactional id ends it, and a new consumer goes on at the committed offset.
export async function run(servers, count) {
	while ((await countPaid(servers)) < count) await work(servers, count);
}

async function countPaid(servers) {
	const admin = connect(servers).admin();
	await admin.connect();
	const [{ partitions }] = await admin.fetchOffsets({ groupId: GROUP, topics: ["orders"] });
	await admin.disconnect();
	return Math.max(0, ...partitions.map(({ offset }) => Number(offset)));
}

async function work(servers, count) {
	const producer = makeProducer(servers, { transactionalId: "payments-1" });
	const consumer = connect(servers).consumer({ groupId: GROUP, maxWaitTimeInMs: 200 });
	await producer.connect();
	await consumer.connect();
	await consumer.subscribe({ topics: ["orders"], fromBeginning: true });
	await new Promise((resolve) => {
		let ended = false;
		const eachBatch = async ({ batch, resolveOffset }) => {
			if (ended) return;
			try {
				await pay(producer, batch);
				resolveOffset(batch.lastOffset());
				ended = Number(batch.lastOffset()) + 1 >= count;
			} catch {
				ended = true;
			}
			if (ended) resolve();
		};
		consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch });
	});
	await consumer.disconnect();
	await producer.disconnect();
}

async function pay(producer, { topic, partition, messages }) {
	const transaction = await producer.transaction();
	const payments = messages.map(({ key, value }) => ({ key, value: `paid: ${value}` }));
	await transaction.send({ topic: "payments", acks: -1, messages: payments });
	const offset = (BigInt(messages.at(-1).offset) + 1n).toString();
	const topics = [{ topic, partitions: [{ partition, offset }] }];
	await transaction.sendOffsets({ consumerGroupId: GROUP, topics });
	await transaction.commit();
}
