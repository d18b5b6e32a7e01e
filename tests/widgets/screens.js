// What stands on the screen of a view, in the words of its text twin; texts that are too small or stand out.
({
	head: (root) => {
		const text = (name) => root.querySelector(name).textContent;
		return [text(".where"), text(".now")];
	},
	"log-tape": (root) =>
		[...root.querySelectorAll("[data-partition]")].flatMap((strip) => {
			const lines = [],
				{ partition } = strip.dataset,
				labels = [...strip.querySelectorAll("[data-replica]")];
			labels.forEach((label, i) => {
				const [name, told] = [
					label.querySelector("b").textContent,
					label.querySelector("small").textContent.split(" · "),
				];
				const [start, lso, hw, end] = label.dataset.marks.split(" "),
					here = !i && strip.matches(".here") ? "> " : "";
				const cells = [...strip.querySelectorAll(`.cell[data-node="${label.dataset.replica}"]`)];
				const readers = [...(i ? [] : strip.querySelectorAll("[data-reads]"))]
					.map((b) => `${b.previousSibling.textContent.replace("▾", "").trim()} reads on at ${b.dataset.reads}`)
					.sort();
				lines.push(
					[
						`${here}${partition} on ${i ? name : told[0]} (${i ? told[0] : told[1]}):` +
							` log start ${start}, LSO ${lso}, HW ${hw}, end ${end}`,
						...readers,
					].join(", "),
				);
				lines.push(...cells.map((cell) => `    [${cell.ariaLabel}]`), ...(cells.length ? [] : ["    empty"]));
				if (i) return;
				for (const level of strip.querySelectorAll("[data-level]"))
					lines.push(`    ${level.dataset.level} ${level.dataset.reading}`);
				for (const reader of strip.querySelectorAll("[data-position]")) lines.push(`    ${reader.dataset.position}`);
			});
			const about = strip.matches(".here") && root.querySelector(".inspector[data-chosen]");
			if (!about) return lines;
			lines.push(`  batch ${strip.querySelector(".chosen").ariaLabel}`);
			for (const row of about.querySelectorAll("[data-field]"))
				lines.push(`    ${row.cells[0].textContent} = ${row.cells[1].textContent}. ${row.cells[2].textContent}`);
			for (const row of about.querySelectorAll("[data-record]")) {
				const fields = [...row.cells[2].querySelectorAll("span")].map((span) => span.textContent);
				const headers = [...row.querySelectorAll("td:nth-child(4) div")].map((e) => `, header ${e.textContent}`);
				lines.push(
					`    offset ${row.cells[0].textContent}, key ${row.cells[1].textContent}:` +
						` ${fields.length ? fields.join(", ") : row.cells[2].textContent}${headers.join("")}`,
				);
			}
			return lines;
		}),
	"state-chart": (root) => {
		const subject = root.querySelector("[data-subject]"),
			lines = [root.querySelector(".title").textContent],
			changes = `  ${root.querySelector(".changes").textContent}`;
		if (!subject) return [...lines, `  ${root.querySelector(".subject .big").textContent}`, changes];
		const [big, meaning, facts, via] = [...subject.children].map((p) => p.textContent.trim()),
			{ state } = subject.dataset;
		const name = subject.dataset.subject,
			pending = big.slice(name.length + 1 + state.length).trim();
		lines.push(
			`  ${name}: ${state}${pending ? ` ${pending}` : ""}`,
			`  ${meaning}`,
			`  ${facts}`,
			...(via ? [`  ${via}`] : []),
			changes,
		);
		for (const row of root.querySelectorAll("[data-ask]")) {
			const chosen = row.ariaSelected === "true",
				[, ask, answer, to] = [...row.cells].map((cell) => cell.textContent);
			lines.push(
				`  ${chosen ? "> " : "  "}${ask} | ${answer} | ${to}`,
				...(chosen && row.title ? [`      ${row.title}`] : []),
			);
		}
		return lines;
	},
	"cluster-map": (root) => {
		const all = (name, read) => [...root.querySelectorAll(name)].map(read),
			{ flying } = root.dataset;
		return [
			...all("[data-node]", (e) => `${e.ariaCurrent ? "> " : "  "}${e.dataset.words}`),
			...all("[data-partition]", (e) => `  ${e.dataset.words}`),
			...all("[data-wall]", (e) => `  cut: ${e.dataset.wall}`),
			...(flying ? flying.split("\n").map((words) => `  in flight: ${words}`) : []),
		];
	},
	small: () =>
		[...document.querySelectorAll(".klab *")]
			.filter((e) => {
				const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
				const scale = e.getScreenCTM?.()?.a ?? 1;
				return (
					own &&
					e.checkVisibility() &&
					!["STYLE", "title", "OPTION"].includes(e.tagName) &&
					parseFloat(getComputedStyle(e).fontSize) * scale < 19.95
				);
			})
			.map((e) => [e.tagName, e.textContent.trim().slice(0, 40), getComputedStyle(e).fontSize]),
	outside: () =>
		[...document.querySelectorAll(".klab button, .klab .now, .klab th, .klab td, .klab p")]
			.filter((e) => {
				const box = e.getBoundingClientRect(),
					room = document.querySelector(".klab").getBoundingClientRect();
				return (
					e.checkVisibility() &&
					box.width &&
					(box.right > room.right + 1 || box.left < room.left - 1) &&
					!e.closest(".grid")
				);
			})
			.map((e) => e.textContent),
});
