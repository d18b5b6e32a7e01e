// What a program can see of a page's looks: small, pale, cut-off and overlapping texts, as sentences.
([size, mode]) => {
	const shown = (e) => e.checkVisibility() && !["STYLE", "TITLE", "OPTION", "SCRIPT"].includes(e.tagName.toUpperCase());
	const own = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
	const texts = [...document.querySelectorAll(".klab *")].filter((e) => own(e) && shown(e) && !e.closest(".aloud")),
		found = new Set();
	const words = (e) =>
		`${e.tagName.toLowerCase()}.${e.getAttribute("class") ?? ""} “${e.textContent.trim().slice(0, 50)}”`;
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (colour) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = colour;
		canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data].map((n, i) => (i < 3 ? n : n / 255));
	};
	const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3]));
	const light = (c) => {
		const [r, g, b] = c.map((n) => ((n /= 255) <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const behind = (e) => {
		const layers = [];
		for (let at = e; at; at = at.parentElement) {
			const colour = rgba(getComputedStyle(at).backgroundColor);
			if (colour[3]) layers.push(colour);
			if (colour[3] === 1) break;
		}
		return layers.reduceRight((below, layer) => over(layer, below), [255, 255, 255]);
	};
	for (const e of texts) {
		const style = getComputedStyle(e),
			scale = e.getScreenCTM?.()?.a ?? 1,
			px = parseFloat(style.fontSize) * scale;
		if (size === "projector" && px < 19.95) found.add(`${px.toFixed(1)} px: ${words(e)}`);
		if (size === "laptop" && px < 10.9) found.add(`${px.toFixed(1)} px: ${words(e)}`);
		let opacity = 1;
		for (let at = e; at; at = at.parentElement) opacity *= Number(getComputedStyle(at).opacity);
		const back = behind(e),
			text = rgba(e instanceof SVGElement ? style.fill : style.color);
		text[3] *= opacity;
		const [a, b] = [light(over(text, back)), light(back)].sort((x, y) => y - x),
			ratio = (a + 0.05) / (b + 0.05);
		const large = px >= 24 || (px >= 18.5 && Number(style.fontWeight) >= 700),
			off = e.closest('[aria-disabled="true"], :disabled');
		if (ratio < (off ? 2.2 : large ? 3 : 4.5) && mode !== "forced")
			found.add(`contrast ${ratio.toFixed(1)}: ${words(e)}`);
		if (/hidden|clip/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1)
			found.add(`cut off (${e.clientWidth} of ${e.scrollWidth}): ${words(e)}`);
		const box = e.getBoundingClientRect(),
			room = e.closest(".klab").getBoundingClientRect();
		const scrolls = (at) =>
			at && !at.matches(".klab") && (/auto|scroll/.test(getComputedStyle(at).overflow) || scrolls(at.parentElement));
		if (box.width && !scrolls(e) && (box.right > room.right + 1 || box.left < room.left - 1))
			found.add(`outside: ${words(e)}`);
	}
	// Pairs of texts of which one stands on the other, within what is seen of them.
	const seen = texts
		.map((e) => {
			const range = document.createRange();
			range.selectNodeContents(e);
			let { left, top, right, bottom } = range.getBoundingClientRect();
			for (let at = e.parentElement; at; at = at.parentElement) {
				if (!/hidden|clip|auto|scroll/.test(getComputedStyle(at).overflow)) continue;
				const b = at.getBoundingClientRect();
				[left, top, right, bottom] = [
					Math.max(left, b.left),
					Math.max(top, b.top),
					Math.min(right, b.right),
					Math.min(bottom, b.bottom),
				];
			}
			return { e, left, top, right, bottom };
		})
		.filter((b) => b.right - b.left > 2 && b.bottom - b.top > 2);
	for (let i = 0; i < seen.length; i++)
		for (let k = i + 1; k < seen.length; k++) {
			const a = seen[i],
				b = seen[k],
				x = Math.min(a.right, b.right) - Math.max(a.left, b.left),
				y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
			if (x > 3 && y > 5 && !a.e.contains(b.e) && !b.e.contains(a.e))
				found.add(`over one another: ${words(a.e)} and ${words(b.e)}`);
		}
	if (document.documentElement.scrollWidth > innerWidth)
		found.add(`the page is ${document.documentElement.scrollWidth} px wide`);
	return [...found];
};
