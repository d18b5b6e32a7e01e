// Builds what a browser gets: `node build.mjs` writes into kafkalab/widgets/built/, `node build.mjs FOLDER` elsewhere.
//
// There is one common part, an entry for each picture, which imports the common part as "kafkalab:common", and entries
// that need neither. The same sources give the same bytes everywhere.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { build } from "esbuild";

const HERE = import.meta.dirname,
	OUT = resolve(process.argv[2] ?? join(HERE, "../kafkalab/widgets/built")),
	COMMON = "kafkalab:common",
	ENTRIES = ["kafka_exercise", "kafka_run", "terms", "python", "recorded_page", "recorded_page_opens"],
	PICTURE = /^export default /m,
	SCRIPT = /\.[jt]s$/;

const textOf = (name) => readFileSync(join(HERE, name), "utf8").replaceAll("\r\n", "\n");

const sources = readdirSync(join(HERE, "src"), { recursive: true, withFileTypes: true })
	.filter((one) => one.isFile())
	.map((one) => relative(HERE, join(one.parentPath, one.name)).replaceAll("\\", "/"))
	.sort();

// Sends the markup in template literals without its indentation.
const unindent = {
	name: "unindent",
	setup: ({ onLoad }) =>
		onLoad({ filter: SCRIPT }, ({ path }) => ({
			contents: textOf(relative(HERE, path)).replace(/^\t+/gm, ""),
			loader: path.endsWith(".ts") ? "ts" : "js",
		})),
};

// Leaves to the common part what is in it.
const leaveOut = (common) => ({
	name: "leave out",
	setup: ({ onResolve }) =>
		onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir }) =>
			common.has(join(resolveDir, path).replace(SCRIPT, ""))
				? { path: COMMON, external: true, sideEffects: false }
				: null,
		),
});

// Returns the built files, and by source file the entries that it is in.
async function bundle(entryPoints, common = new Set()) {
	const { outputFiles, metafile } = await build({
		absWorkingDir: HERE,
		entryPoints,
		outdir: OUT,
		bundle: true,
		minify: true,
		write: false,
		metafile: true,
		logOverride: { "ambiguous-reexport": "error", "import-is-undefined": "error" }, // of two modules of common
		format: "esm",
		charset: "utf8",
		target: ["chrome123", "firefox120", "safari17.5"],
		plugins: [leaveOut(common), unindent],
	});
	const inside = {};
	for (const [output, { inputs }] of Object.entries(metafile.outputs))
		for (const input of output.endsWith(".js") ? Object.keys(inputs) : [])
			(inside[input] ??= []).push(basename(output));
	return { inside, files: outputFiles.map(({ path, text }) => [basename(path), text]) };
}

const digestOf = (parts) =>
	parts.reduce((hash, part) => hash.update(part).update("\0"), createHash("sha256")).digest("hex");

const named = (names) => sources.filter((path) => names.includes(path.replace(SCRIPT, ""))),
	common = await bundle(named(["src/common"])),
	shared = new Set(Object.keys(common.inside).map((path) => join(HERE, path).replace(SCRIPT, ""))),
	pictures = await bundle(
		sources.filter((path) => SCRIPT.test(path) && PICTURE.test(textOf(path))),
		shared,
	),
	pages = await bundle(named(ENTRIES.map((name) => `src/page/${name}`)), shared),
	twice = Object.entries(pictures.inside).filter(([, entries]) => entries.length > 1);
if (twice.length)
	throw new Error(`${twice.map(([path, entries]) => `${path} is in ${entries.join(" and ")}`)}: name it in common.js`);
const files = [common, pictures, pages].flatMap((made) => made.files).sort(([a], [b]) => (a < b ? -1 : 1));
rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
for (const [name, text] of files) writeFileSync(join(OUT, name), text);
const inputs = ["build.mjs", "package.json", ...sources].flatMap((path) => [path, textOf(path)]);
writeFileSync(join(OUT, "digests.txt"), `sources ${digestOf(inputs)}\nbuilt ${digestOf(files.flat())}\n`);
