// @platformatic/kafka, told what to do line by line; see lines.js.
const kafka = require("@platformatic/kafka");
const { POLL_MS, serve, sleep } = require("./lines.js");

// Timeouts that the environment asks for.
const REQUEST_MS = Number(process.env.CLIENT_REQUEST_MS ?? 0);
const LONGEST_MS = Number(process.env.CLIENT_LONGEST_MS ?? 0);
const RETRY = { retries: 40, retryDelay: 250 };
const TIMEOUTS = REQUEST_MS ? { requestTimeout: REQUEST_MS, timeout: LONGEST_MS } : {};
// Without these it asks for producer 0 of epoch 0, and brokers refuse an id whose producer is another (README.md).
const NO_PRODUCER = { producerId: -1n, producerEpoch: -1 };

function common(servers) {
	return { clientId: "client", bootstrapBrokers: servers.split(","), ...RETRY, ...TIMEOUTS };
}

// An error of which the application cannot recover with this producer.
class Fatal extends Error {
	name = "FATAL";
}

function check(error) {
	const fatal = ["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"].find((id) => kafka.findErrorBy(error, "apiId", id));
	throw fatal ? new Fatal(fatal, { cause: error }) : error;
}

class Producer {
	constructor(servers, id) {
		const options = { ...common(servers), idempotent: true, serializers: kafka.stringSerializers, ...NO_PRODUCER };
		this.made = new kafka.Producer({ ...options, autocreateTopics: true, ...(id ? { transactionalId: id } : {}) });
		this.target = this.made;
		this.id = id;
		this.sends = [];
	}

	// InitProducerId with the transactional id is sent by the first beginTransaction().
	async init() {
		if (this.id) this.first = await this.made.beginTransaction().catch(check);
	}

	async begin() {
		this.target = this.first ?? (await this.made.beginTransaction().catch(check));
		this.first = null;
	}

	async send(topic, partition, value) {
		const sent = await this.sendAll([{ topic, partition: Number(partition), value }]);
		return `${sent.offsets[0].offset}`;
	}

	// The record is in flight until the commit.
	enqueue(topic, partition, value) {
		this.sends.push(this.send(topic, partition, value));
	}

	sendAll(messages) {
		return this.target.send({ messages }).catch(check);
	}

	async commit() {
		await Promise.all(this.sends.splice(0));
		await this.target.commit().catch(check);
	}

	async abort() {
		await this.target.abort().catch(check);
	}

	async close() {
		await this.made.close(true);
	}
}

class Consumer {
	constructor(servers, group, topic, isolation) {
		const options = { ...common(servers), groupId: group, deserializers: kafka.stringDeserializers };
		this.made = new kafka.Consumer({
			...options,
			heartbeatInterval: 500,
			rebalanceTimeout: 10000,
			sessionTimeout: 10000,
		});
		this.topic = topic;
		this.isolation = isolation.toUpperCase();
		this.rows = [];
		this.last = new Map();
	}

	async start() {
		const isolationLevel = kafka.FetchIsolationLevels[this.isolation];
		const where = { topics: [this.topic], mode: "committed", fallbackMode: "earliest" };
		this.stream = await this.made.consume({ ...where, autocommit: false, maxWaitTime: 200, isolationLevel });
		this.stream.on("data", (message) => this.rows.push(message));
		this.stream.on("error", () => {
			this.broken = true;
		});
	}

	// A new stream begins at the committed offsets.
	async rewind() {
		this.rows = [];
		this.broken = false;
		await this.stream.close().catch(() => {});
		this.rows = [];
		await this.start();
	}

	async take() {
		if (this.broken) await this.rewind();
		for (let waited = 0; !this.rows.length && waited < POLL_MS; waited += 10) await sleep(10);
		// A Fetch that was under way during a rebalance brings records of a partition that is another member's by now.
		return this.rows.splice(0).filter((one) => this.owned().includes(one.partition));
	}

	async poll() {
		const read = await this.take();
		for (const one of read) this.last.set(one.partition, one);
		return read.map((one) => `${one.partition}:${one.offset}:${one.value}`).join(",");
	}

	async commit() {
		await Promise.all([...this.last.values()].map((one) => one.commit()));
	}

	owned() {
		return this.made.assignments?.find((one) => one.topic === this.topic)?.partitions ?? [];
	}

	async close() {
		await this.made.close(true);
	}
}

// Consumes, transforms and produces as https://github.com/platformatic/kafka/blob/main/docs/producer.md has it. A
// message carries its member's generation, with which its offset goes into the transaction (KIP-447).
class Instance {
	constructor(servers, group, topic, out, id) {
		this.producer = new Producer(servers, id);
		this.consumer = new Consumer(servers, group, topic, "read_committed");
		this.out = out;
	}

	async start() {
		await this.producer.init();
		await this.consumer.start();
	}

	async step(how) {
		const messages = await this.consumer.take();
		if (!messages.length) return "";
		const values = messages.map((one) => one.value);
		const error = await this.transact(messages, how === "commit").then(
			() => null,
			(error) => error,
		);
		if (!error && how === "commit") return values.join(",");
		if (error instanceof Fatal) throw error;
		await this.producer.abort().catch((why) => {
			throw new Fatal(`no abort: ${why.message}`, { cause: why });
		});
		await this.consumer.rewind();
		return error ? "" : values.join(",");
	}

	async transact(messages, commit) {
		await this.producer.begin();
		const transaction = this.producer.target;
		const last = new Map(messages.map((one) => [one.partition, one]));
		await this.producer.sendAll(messages.map(({ partition, value }) => ({ topic: this.out, partition, value })));
		await transaction.addConsumer(this.consumer.made);
		for (const one of last.values()) await transaction.addOffset(one);
		if (commit) await this.producer.commit();
	}

	assigned() {
		return this.consumer.owned().length;
	}

	async close() {
		await this.consumer.close();
		await this.producer.close();
	}
}

async function committed(servers, group, topic, partition) {
	const { made } = new Consumer(servers, group, topic, "read_committed");
	const found = await made.listCommittedOffsets({ topics: [{ topic, partitions: [Number(partition)] }] });
	await made.close(true);
	return `${found.get(topic)?.[Number(partition)] ?? -1}`;
}

serve({ producer: Producer, consumer: Consumer, instance: Instance }, committed);
