"use strict";
const tip = document.getElementById("tip");
// show puts words beside the pointer, inside the window.
function show(text, event) {
	tip.textContent = text;
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - box.width - 14 : event.clientX + 14;
	const top = event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18;
	tip.style.left = Math.max(8, left) + "px";
	tip.style.top = Math.max(8, top) + "px";
}
// moment says what happened at a time, in seconds.
function moment(at) {
	const row = data.rows[Math.floor((at - data.from) / data.step)] || ["0", "0", "–", "–"];
	let text = `at ${at.toFixed(1)} s: ${row[0]} done, ${row[1]} refused or without an answer\np50 ${row[2]}, p99 ${row[3]}`;
	const faults = (data.faults || []).filter(f => f.from <= at && f.to >= at);
	for (const f of faults.slice(0, 8)) text += `\n• ${f.kind}: ${f.what}`;
	if (faults.length > 8) text += `\n… and ${faults.length - 8} more faults`;
	return text;
}
for (const plot of document.querySelectorAll(".plot")) {
	const cursor = plot.querySelector(".cursor"), shade = plot.querySelector(".shade");
	const look = event => {
		const box = plot.getBoundingClientRect();
		const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
		const at = data.from + part * (data.to - data.from);
		cursor.hidden = false;
		cursor.style.left = 100 * part + "%";
		const told = event.target.closest("[data-text]");
		shade.hidden = !(told && told.tagName === "rect");
		if (!shade.hidden) {
			const r = told.getBoundingClientRect();
			shade.style.left = r.left - box.left + "px";
			shade.style.width = r.width + "px";
		}
		show(told ? told.dataset.text : moment(at), event);
	};
	const leave = () => { cursor.hidden = shade.hidden = tip.hidden = true; };
	plot.addEventListener("pointermove", look);
	plot.addEventListener("pointerdown", look);
	plot.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") leave(); });
	// A tap shows first; only the pointer of a mouse follows the link of a bar.
	let kind = "mouse";
	plot.addEventListener("pointerdown", event => { kind = event.pointerType; }, true);
	plot.addEventListener("click", event => { if (kind !== "mouse" && event.target.tagName === "rect") event.preventDefault(); });
	document.addEventListener("pointerdown", event => { if (!plot.contains(event.target)) leave(); });
}
// The row of a fault may be in a part of the page that is folded.
function unfold() {
	const row = location.hash && document.getElementById(location.hash.slice(1));
	const folded = row && row.closest("details");
	if (folded) { folded.open = true; row.scrollIntoView({block: "center"}); }
}
addEventListener("hashchange", unfold);
unfold();
document.getElementById("copy").addEventListener("click", event => {
	const text = document.getElementById("command").textContent;
	const done = () => { event.target.textContent = "copied"; };
	if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
	else getSelection().selectAllChildren(document.getElementById("command"));
});
