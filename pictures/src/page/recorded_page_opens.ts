// Unpacks the picture's modules and the run, which are in the page itself, and shows them.

export {}; // a module: it awaits

const place = document.querySelector("#run") as Element,
	addressOf = (code: string) => URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
try {
	const packed = Uint8Array.from(atob(document.querySelector("#packed")?.textContent ?? ""), (c) => c.charCodeAt(0)),
		plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")),
		[common, picture, page, values] = await new Response(plain).json(),
		{ openRecording } = await import(addressOf(page)),
		module = await import(addressOf(picture.replaceAll("kafkalab:common", addressOf(common))));
	await openRecording(module, values, place);
} catch (error) {
	const told = document.createElement("p");
	told.role = "alert";
	told.textContent =
		`This browser cannot show the recording (${(error as Error).message}). ` +
		"A newer one can: Chromium 123, Firefox 120, Safari 17.5.";
	place.append(told);
}
