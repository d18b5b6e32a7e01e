// The learner's work: what this browser keeps of the labs, as one zip file to download. Nothing is sent anywhere.
const DATABASE = "JupyterLite Storage";

/** Every file that JupyterLite keeps here: its path and its bytes. */
async function kept() {
	const found = [];
	const names = (await indexedDB.databases()).map((one) => one.name).filter((name) => name.startsWith(DATABASE));
	for (const name of names) {
		const database = await answer(indexedDB.open(name));
		if (database.objectStoreNames.contains("files")) {
			const files = await answer(database.transaction("files").objectStore("files").getAll());
			for (const file of files) if (file.type !== "directory") found.push([file.path, bytes(file)]);
		}
		database.close();
	}
	return found;
}

function answer(asked) {
	return new Promise((done, failed) => {
		asked.onsuccess = () => done(asked.result);
		asked.onerror = () => failed(asked.error);
	});
}

function bytes({ content, format }) {
	if (format === "base64") return Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
	const text = typeof content === "string" ? content : JSON.stringify(content, null, 1);
	return new TextEncoder().encode(text);
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
	for (let bit = 0; bit < 8; bit++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
	return n;
});

function crc32(data) {
	let sum = -1;
	for (const byte of data) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
	return ~sum >>> 0;
}

function numbers(...pairs) {
	const view = new DataView(new ArrayBuffer(pairs.reduce((sum, [size]) => sum + size, 0)));
	let at = 0;
	for (const [size, value] of pairs) {
		if (size === 2) view.setUint16(at, value, true);
		else view.setUint32(at, value, true);
		at += size;
	}
	return new Uint8Array(view.buffer);
}

/** A zip file in which the files lie as they are, without compression. */
export function zip(files) {
	const [parts, index] = [[], []];
	let [at, indexSize] = [0, 0];
	for (const [path, data] of files) {
		const name = new TextEncoder().encode(path);
		const facts = [
			[2, 0x800],
			[2, 0],
			[4, 0x210000],
			[4, crc32(data)],
			[4, data.length],
			[4, data.length],
		];
		const head = numbers([4, 0x04034b50], [2, 20], ...facts, [2, name.length], [2, 0]);
		const row = numbers(
			[4, 0x02014b50],
			[2, 20],
			[2, 20],
			...facts,
			[2, name.length],
			[2, 0],
			[2, 0],
			[2, 0],
			[2, 0],
			[4, 0],
			[4, at],
		);
		parts.push(head, name, data);
		index.push(row, name);
		at += head.length + name.length + data.length;
		indexSize += row.length + name.length;
	}
	const end = numbers(
		[4, 0x06054b50],
		[2, 0],
		[2, 0],
		[2, files.length],
		[2, files.length],
		[4, indexSize],
		[4, at],
		[2, 0],
	);
	return new Blob([...parts, ...index, end], { type: "application/zip" });
}

async function download(said) {
	let files = [];
	try {
		files = await kept();
	} catch (error) {
		said.textContent = `What this browser keeps cannot be read (${error.message}). Open a lab, then File → Download.`;
		return;
	}
	if (!files.length) {
		said.textContent = "Nothing is kept here yet: open a lab, run a cell, and save it (Ctrl+S).";
		return;
	}
	const link = document.createElement("a");
	link.href = URL.createObjectURL(zip(files));
	link.download = "kafkalab-work.zip";
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
	said.textContent = `${files.length} ${files.length === 1 ? "file" : "files"} in kafkalab-work.zip.`;
}

const button = globalThis.document?.getElementById("download-work");
if (button) button.onclick = () => download(document.getElementById("work-said"));
