// kafkajs, told what to do line by line: a name, a call, its arguments.
const { Kafka, logLevel, Partitioners } = require("kafkajs");
const { POLL_MS, serve, sleep } = require("./lines.js");

// Timeouts that the environment asks for.
const REQUEST_MS = Number(process.env.CLIENT_REQUEST_MS ?? 0);
const LONGEST_MS = Number(process.env.CLIENT_LONGEST_MS ?? 0);
const REWINDS = 10;
const FENCED = ["PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"];
const age = LONGEST_MS ? { metadataMaxAge: LONGEST_MS } : {};

function kafka(servers) {
	const retry = { initialRetryTime: 100, maxRetryTime: 1000, retries: LONGEST_MS / 1000 || 40 };
	const requestTimeout = REQUEST_MS || 30000;
	return new Kafka({ brokers: servers.split(","), logLevel: logLevel.NOTHING, retry, requestTimeout });
}

class Producer {
	constructor(servers, id) {
		const config = { idempotent: true, maxInFlightRequests: 1, createPartitioner: Partitioners.DefaultPartitioner };
		const ofId = { transactionalId: id, transactionTimeout: LONGEST_MS || 60000, ...age };
		this.made = kafka(servers).producer(id ? { ...config, ...ofId } : config);
		this.target = this.made;
		this.id = id;
	}

	// InitProducerId with the transactional id is sent by the first call of transaction().
	async init() {
		await this.made.connect();
		if (this.id) this.first = await this.made.transaction();
	}

	async begin() {
		this.target = this.first ?? (await this.made.transaction());
		this.first = null;
		this.inFlight = Promise.resolve();
	}

	async send(topic, partition, value) {
		const messages = [{ value, partition: Number(partition) }];
		const [sent] = await this.target.send({ topic, acks: -1, messages });
		return sent.baseOffset;
	}

	// The caller does not wait; kafkajs gives no order to two sends at once, so each waits for the one before.
	enqueue(topic, partition, value) {
		this.inFlight = this.inFlight.then(() => this.send(topic, partition, value));
		this.inFlight.catch(() => {}); // the commit waits for it, and fails
	}

	async commit() {
		await this.inFlight;
		await this.target.commit();
	}

	async abort() {
		await this.inFlight.catch(() => {});
		await this.target.abort();
	}

	async close() {
		await this.made.disconnect();
	}
}

function reader(servers, group, isolation) {
	const readUncommitted = isolation === "read_uncommitted";
	const session = REQUEST_MS ? { sessionTimeout: 6000 } : {};
	const config = { groupId: group, readUncommitted, maxWaitTimeInMs: 200, heartbeatInterval: 500 };
	return kafka(servers).consumer({ ...config, ...session, ...age });
}

class Consumer {
	constructor(servers, group, topic, isolation) {
		this.made = reader(servers, group, isolation);
		this.topic = topic;
		this.rows = [];
		this.next = new Map();
	}

	async start() {
		await this.made.connect();
		await this.made.subscribe({ topics: [this.topic], fromBeginning: true });
		const eachMessage = async ({ partition, message }) => {
			this.rows.push([partition, message.offset, message.value.toString()]);
		};
		await this.made.run({ autoCommit: false, eachMessage });
	}

	async poll() {
		if (!this.rows.length) await sleep(POLL_MS);
		const rows = this.rows.splice(0);
		for (const [partition, offset] of rows) this.next.set(partition, Number(offset) + 1);
		return rows.map((row) => row.join(":")).join(",");
	}

	async commit() {
		const places = [...this.next].map(([partition, offset]) => ({ topic: this.topic, partition, offset: `${offset}` }));
		await this.made.commitOffsets(places);
	}

	async close() {
		await this.made.disconnect();
	}
}

// kafkajs sends no generation with a transaction's offsets, so each partition has a transactional id of its own: the
// next instance that gets the partition fences the one before. A batch waits for a step, and is handled within it.
class Instance {
	constructor(servers, group, topic, out) {
		Object.assign(this, { servers, group, topic, out, waiting: [], owned: 0, closed: false, producers: new Map() });
		this.made = reader(servers, group, "read_committed");
	}

	async start() {
		this.made.on(this.made.events.GROUP_JOIN, ({ payload }) => {
			this.owned = payload.memberAssignment[this.topic]?.length ?? 0;
		});
		this.made.on(this.made.events.REBALANCING, () => this.forget());
		await this.made.connect();
		await this.made.subscribe({ topics: [this.topic], fromBeginning: true });
		const eachBatch = ({ batch, resolveOffset }) => this.handle(batch, resolveOffset);
		await this.made.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch });
	}

	forget() {
		const idle = [...this.producers.values()];
		this.producers.clear();
		return Promise.all(idle.map((producer) => producer.close()));
	}

	async handle(batch, resolveOffset) {
		if (this.closed) return;
		const step = await new Promise((resolve) => this.waiting.push(resolve));
		if (step === null) return;
		const done = await this.transact(batch, step.commit).catch(() => null);
		try {
			if (done && step.commit) resolveOffset(batch.lastOffset());
			else await this.rewindAtLast(batch);
			step.done(done ? batch.messages.map((message) => message.value.toString()) : []);
		} catch (error) {
			step.fail(error);
			throw error;
		}
	}

	// Its answers may be lost, too.
	async rewindAtLast(batch) {
		for (let left = REWINDS; left; left--) {
			const error = await this.rewind(batch).catch((error) => error);
			if (!error) return;
			if (left === 1) throw error;
			await sleep(POLL_MS);
		}
	}

	// A lost answer leaves open whether the commit was written: a new producer ends it, and then the group's offset tells.
	async rewind(batch) {
		const { topic, servers, group } = this;
		const { partition } = batch;
		await this.producer(partition);
		const offset = await committed(servers, group, topic, partition);
		this.made.seek({ topic, partition, offset: Number(offset) < 0 ? batch.firstOffset() : `${offset}` });
	}

	async producer(partition) {
		if (!this.producers.has(partition)) {
			const made = new Producer(this.servers, `${this.group}-${partition}`);
			await made.init();
			this.producers.set(partition, made);
		}
		return this.producers.get(partition);
	}

	async transact(batch, commit) {
		const { partition } = batch;
		const producer = await this.producer(partition);
		try {
			await producer.begin();
			for (const message of batch.messages) await producer.send(this.out, partition, message.value);
			const offset = `${BigInt(batch.lastOffset()) + 1n}`;
			const topics = [{ topic: this.topic, partitions: [{ partition, offset }] }];
			await producer.target.sendOffsets({ consumerGroupId: this.group, topics });
			await (commit ? producer.commit() : producer.abort());
		} catch (error) {
			// abort() sends nothing before the first partition is added, and so does not tell of a producer that is fenced.
			if (FENCED.includes(error.type)) await this.replace(partition);
			else await producer.abort().catch(() => this.replace(partition));
			throw error;
		}
		return true;
	}

	async replace(partition) {
		const producer = this.producers.get(partition);
		this.producers.delete(partition);
		await producer.close();
	}

	async step(how) {
		for (let waited = 0; !this.waiting.length && waited < POLL_MS; waited += 10) await sleep(10);
		const next = this.waiting.shift();
		if (!next) return "";
		const values = await new Promise((done, fail) => next({ commit: how === "commit", done, fail }));
		return values.join(",");
	}

	assigned() {
		return this.owned;
	}

	async close() {
		this.closed = true;
		for (const waits of this.waiting.splice(0)) waits(null);
		await this.made.disconnect();
		await this.forget();
	}
}

async function committed(servers, groupId, topic, partition) {
	const admin = kafka(servers).admin();
	await admin.connect();
	const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
	await admin.disconnect();
	return found.partitions.find((one) => one.partition === Number(partition))?.offset ?? -1;
}

serve({ producer: Producer, consumer: Consumer, instance: Instance }, committed);
