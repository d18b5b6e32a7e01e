// A lab broker for one test. Copy this file into your tests; it needs nothing but Node 20.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export class KafkaLab {
	// Run `kafkalab serve --control` with topics ("orders:1,payments:3") and further options, or use one that runs
	// (KAFKALAB_CONTROL). KAFKALAB has the command, if it is another than `kafkalab`.
	static async start(topics, ...options) {
		const lab = new KafkaLab();
		lab.url = process.env.KAFKALAB_CONTROL;
		if (!lab.url) {
			const [command, ...words] = (process.env.KAFKALAB ?? "kafkalab").split(" ");
			const ports = ["serve", "--port", "0", "--control", "0", "--topics", topics];
			const quick = ["--config", "group.initial.rebalance.delay.ms=0"];
			const stdio = ["ignore", "pipe", "inherit"];
			lab.process = spawn(command, [...words, ...ports, ...quick, ...options], { stdio });
			for await (const line of createInterface({ input: lab.process.stdout })) {
				if (line.startsWith("control: ")) lab.url = line.slice("control: ".length);
				if (lab.url) break;
			}
			if (!lab.url) throw new Error(`${command} has not started; its reason is on stderr`);
		}
		lab.bootstrapServers = (await lab.get("/status")).bootstrap_servers;
		return lab;
	}

	// Ask; the error has the lab's sentence for what is wrong.
	get(path, query = {}) {
		return this.#ask(`${path}?${new URLSearchParams(query)}`, {});
	}

	// Press; the error has the lab's sentence for what is wrong.
	post(path, body = {}) {
		const headers = { "Content-Type": "application/json" };
		return this.#ask(path, { method: "POST", headers, body: JSON.stringify(body) });
	}

	async #ask(path, options) {
		const answer = await fetch(this.url + path, options);
		const found = await answer.json();
		if (!answer.ok) throw new Error(`${path}: ${found.error}`);
		return found;
	}

	// Strike: "Drop:EndTxnResponse#1", "Delay:Produce#2:500", "Crash:b2".
	fault(words) {
		return this.post("/faults", { fault: words });
	}

	// Declare that each record of one topic makes one of the other with the same key.
	pipeline(source, target) {
		return this.post("/pipeline", { source, target });
	}

	// What a read_committed consumer would be given.
	async values(topic) {
		return (await this.get("/records", { topic })).records.map((record) => record.value);
	}

	// An error, with frames and steps, if a promise is broken or a fault has struck nothing.
	async check(name) {
		const verdict = await this.get("/verdict", { check: name });
		if (!verdict.holds) throw new Error(verdict.message);
	}

	// Stop the brokers that were started here.
	async close() {
		if (this.process?.kill()) await once(this.process, "exit");
	}
}
