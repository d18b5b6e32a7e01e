// Names that the book's theme gives to what it shows, as a screen reader and who speaks to the page need them.

export function mendTheme() {
	for (const one of document.querySelectorAll("details.hide > summary, .search-button__button"))
		one.removeAttribute("aria-label"); // its words are its name
	const brand = document.querySelector(".sidebar-primary-items__start > .sidebar-primary-item:has(.navbar-brand)");
	brand?.setAttribute("role", "navigation");
	brand?.setAttribute("aria-label", "The book");
}
