// Unpacks the picture's module and the run, which are in the page itself, and shows them.

const place = document.querySelector("#run");
try {
	const packed = Uint8Array.from(atob(document.querySelector("#packed").textContent), (c) => c.charCodeAt(0)),
		plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate")),
		[module, values] = await new Response(plain).json(),
		url = URL.createObjectURL(new Blob([module], { type: "text/javascript" })),
		{ default: view, openRecording } = await import(url);
	URL.revokeObjectURL(url);
	await openRecording(view, values, place);
} catch (error) {
	const told = document.createElement("p");
	told.role = "alert";
	told.textContent =
		`This browser cannot show the recording (${error.message}). ` +
		"A newer one can: Chromium 123, Firefox 120, Safari 17.5.";
	place.append(told);
}
