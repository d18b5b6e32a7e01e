// Before JupyterLite's own service worker: pages and workers that it serves are isolated, so that memory can be shared.
//
// A host of static files sends no such headers. With shared memory, Interrupt stops a cell that runs.
{
	const bare = self.fetch.bind(self),
		ISOLATED = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
	self.fetch = async (request, options) => {
		const response = await bare(request, options);
		if (!["document", "worker", "iframe"].includes(request.destination) || !response.body || response.redirected)
			return response;
		const headers = new Headers(response.headers);
		for (const [name, value] of Object.entries(ISOLATED)) headers.set(name, value);
		return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
	};
}
