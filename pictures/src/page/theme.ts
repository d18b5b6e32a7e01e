// What the book's theme leaves to be mended for screen readers, and for who speaks to the page.

export function mendTheme() {
	for (const one of document.querySelectorAll("details.hide > summary, .search-button__button"))
		one.removeAttribute("aria-label"); // its words are its name
	// what heads no column is no head
	for (const one of document.querySelectorAll("th")) if (!one.textContent.trim()) one.outerHTML = "<td></td>";
	const brand = document.querySelector(".sidebar-primary-items__start > .sidebar-primary-item:has(.navbar-brand)");
	brand?.setAttribute("role", "navigation");
	brand?.setAttribute("aria-label", "The book");
}
