// Calls that come line by line: a name, a call, its arguments. Results go out the same way.
const readline = require("node:readline");

const things = new Map();

// KINDS are classes of things that the calls make and name; `committed` is a group's offset.
async function run(kinds, committed, [name, call, ...words]) {
	if (call === "committed") return committed(...words);
	if (!kinds[call]) return (await things.get(name)[call](...words)) ?? "";
	const made = new kinds[call](...words);
	things.set(name, made);
	if (made.start) await made.start();
	else if (!words[1]) await made.init();
	return "";
}

exports.serve = async (kinds, committed) => {
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const told = (value) => process.stdout.write(`${value.replaceAll("\n", " ")}\n`);
		await run(kinds, committed, line.split("\t")).then(
			(value) => told(`ok\t${value}`),
			(error) => told(`error\t${error.type ?? error.name}\t${error.message}`),
		);
	}
	process.exit(0);
};
exports.POLL_MS = 300;
exports.sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
