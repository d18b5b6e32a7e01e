// What waits with its loading until the reader comes near it.

const NEAR = "600px";

// Calls `open` once the element is near the screen; gives back what watches for that.
export function watchNear(element: Element, open: () => unknown): IntersectionObserver {
	const watch = new IntersectionObserver((changes) => changes.some(({ isIntersecting }) => isIntersecting) && open(), {
		rootMargin: NEAR,
	});
	watch.observe(element);
	return watch;
}
