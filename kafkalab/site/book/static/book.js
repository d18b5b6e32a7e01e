// On every page of the book: what is folded and has the page's address is unfolded.
function unfold() {
	const target = document.getElementById(decodeURIComponent(location.hash.slice(1)).split("@")[0]);
	const folded = target?.closest("details:not([open])");
	for (let one = folded; one; one = one.parentElement.closest("details")) one.open = true;
	if (folded) target.scrollIntoView();
}

unfold();
addEventListener("hashchange", unfold);
